// made by `dibs init`; `dibs init --uninstall` takes it out. Commit it: it names no machine.
//
// dibs' plugin for OpenCode: it tells `.dibs/hook` what is about to happen, and does what that answers. Nothing is
// decided here. OpenCode 1.x calls server(), OpenCode 2.x calls setup(). Before a tool call everything but a clear yes is
// a refusal: a launcher that is missing, fails or takes too long lets nothing pass.

import { spawn } from "node:child_process"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

const COMMANDS = {}
const TIMEOUT_MS = 20_000 // as for the hooks of other clients
const END_TIMEOUT_MS = 2_000 // a client that ends is not kept waiting
const ASKING = new Set(["permission.updated", "permission.asked", "question.asked"])
const BEFORE = "tool.execute.before"
const TREE = dirname(dirname(dirname(fileURLToPath(import.meta.url)))) // the working tree that this file lies in

// Run the launcher for one event; its exit code, and what it printed.
function run(event, payload, milliseconds) {
  return new Promise((resolve) => {
    const child = spawn("sh", ["-c", COMMANDS[event]], {
      cwd: TREE,
      env: { ...process.env, OPENCODE_PROJECT_DIR: TREE },
      stdio: ["pipe", "pipe", "pipe"],
    })
    let out = ""
    let err = ""
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      resolve({ code: -1, out: "", err: `dibs: no answer within ${milliseconds / 1000} s` })
    }, milliseconds)
    child.stdout.on("data", (data) => (out += data))
    child.stderr.on("data", (data) => (err += data))
    child.stdin.on("error", () => {}) // it may answer without reading
    child.on("error", (error) => {
      clearTimeout(timer)
      resolve({ code: -1, out: "", err: `dibs: the guard did not start: ${error.message}` })
    })
    child.on("close", (code) => {
      clearTimeout(timer)
      resolve({ code, out, err })
    })
    child.stdin.end(JSON.stringify({ hook_event_name: event, ...payload }))
  })
}

function answer(text) {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

// What is the same in both versions. `parentOf` says which session started a session; "" if none did.
function guard(directory, parentOf) {
  const parents = new Map() // session → the one that started it
  const booted = new Map() // session → the promise of its briefing
  const news = new Map() // session → what the model has not been told yet
  const created = new Set() // sessions that began in this process

  async function parent(session) {
    if (!parents.has(session)) {
      try {
        parents.set(session, (await parentOf(session)) || "")
      } catch {
        parents.set(session, "")
      }
    }
    return parents.get(session)
  }

  // A session that another one started is that one's subagent.
  async function who(session) {
    let root = session
    for (let depth = 0; depth < 32; depth += 1) {
      const above = await parent(root)
      if (!above || above === root) break
      root = above
    }
    const named = { session_id: root, cwd: directory }
    return root === session ? named : { ...named, agent_id: session, agent_type: "subagent" }
  }

  async function ask(event, session, more = {}, milliseconds = TIMEOUT_MS) {
    return run(event, { ...(await who(session)), ...more }, milliseconds)
  }

  function keep(session, text) {
    if (text) news.set(session, [...(news.get(session) ?? []), text])
  }

  function boot(session, source) {
    if (!booted.has(session)) {
      const begins = source ?? (created.has(session) ? "startup" : "resume")
      booted.set(
        session,
        ask("session.created", session, { source: begins }).then((said) => answer(said.out).context ?? ""),
      )
    }
    return booted.get(session)
  }

  return {
    created(session, above) {
      created.add(session)
      parents.set(session, above ?? "")
    },

    compacted(session) {
      if (!booted.delete(session)) return
      boot(session, "compact") // what it holds, once more: the model has forgotten
    },

    async prompted(session, prompt = "") {
      if (!booted.has(session)) await boot(session)
      else news.delete(session) // the requests since then have shown it
      keep(session, answer((await ask("chat.message", session, { prompt })).out).context)
    },

    // It waits for a person: a permission, a question.
    async asks(session, message = "") {
      if (booted.has(session)) await ask("permission.asked", session, { message }, END_TIMEOUT_MS)
    },

    // For the system prompt: the briefing, and what came with the last prompt.
    async context(session) {
      const told = [await boot(session), ...(news.get(session) ?? [])]
      return told.filter(Boolean)
    },

    async before(tool, session, call, input) {
      await boot(session)
      const said = await ask(BEFORE, session, { tool_name: tool, tool_input: input ?? {}, tool_use_id: call })
      const told = answer(said.out)
      if (said.code !== 0) {
        throw new Error(told.deny ?? (said.err.trim() || `dibs: the guard failed (exit ${said.code}); call refused`))
      }
      keep(session, told.context)
    },

    // What the model should know with the result.
    async after(tool, session, call, input) {
      const said = await ask("tool.execute.after", session, {
        tool_name: tool,
        tool_input: input ?? {},
        tool_use_id: call,
      })
      const told = [...(news.get(session) ?? []), answer(said.out).context].filter(Boolean)
      news.delete(session)
      return told.join("\n")
    },

    // A turn is over; a subagent has one turn, and what it holds passes to the agent that started it.
    async idle(session) {
      if (!booted.has(session)) return
      if (await parent(session)) await this.deleted(session)
      else await ask("session.idle", session)
    },

    async deleted(session) {
      if (booted.delete(session)) await ask("session.deleted", session, {}, END_TIMEOUT_MS)
    },

    async end() {
      const all = [...booted.keys()]
      booted.clear()
      await Promise.all(all.map((session) => ask("session.deleted", session, {}, END_TIMEOUT_MS)))
    },

    // The variables by which `dibs` in the agent's shell, and git's hooks, know who calls.
    async variables(session) {
      const { session_id: root, agent_id: child } = await who(session)
      const found = { OPENCODE_SESSION_ID: root }
      if (child) found.DIBS_AGENT = `${process.env.DIBS_AGENT || root}/${child}`
      return found
    },
  }
}

// OpenCode 1.x
async function server({ client, directory }) {
  const house = guard(directory ?? TREE, async (id) => {
    const found = await client.session.get({ path: { id } })
    return found?.data?.parentID
  })
  return {
    async event({ event }) {
      const about = event.properties ?? {}
      const session = about.sessionID ?? about.info?.id
      if (!session) return
      if (event.type === "session.created") house.created(session, about.info?.parentID)
      else if (event.type === "session.compacted") house.compacted(session)
      else if (event.type === "session.idle") await house.idle(session)
      else if (event.type === "session.deleted") await house.deleted(session)
      else if (ASKING.has(event.type)) await house.asks(session, about.title)
    },
    async "chat.message"(input, output) {
      const texts = (output?.parts ?? []).filter((part) => part.type === "text").map((part) => part.text)
      await house.prompted(input.sessionID, texts.join(" "))
    },
    async "experimental.chat.system.transform"(input, output) {
      if (input.sessionID) output.system.push(...(await house.context(input.sessionID)))
    },
    async "tool.execute.before"(input, output) {
      await house.before(input.tool, input.sessionID, input.callID, output.args)
    },
    async "tool.execute.after"(input, output) {
      const told = await house.after(input.tool, input.sessionID, input.callID, input.args)
      if (!told || !output) return
      if (typeof output.output === "string") output.output += `\n\n${told}`
      else if (Array.isArray(output.content)) output.content.push({ type: "text", text: told })
    },
    async "shell.env"(input, output) {
      if (input.sessionID) Object.assign(output.env, await house.variables(input.sessionID))
    },
    async dispose() {
      await house.end()
    },
  }
}

// OpenCode 2.x
async function setup(ctx) {
  const house = guard(ctx.location?.directory ?? TREE, async (sessionID) => {
    const found = await ctx.session.get({ sessionID })
    return (found?.data ?? found)?.parentID
  })
  const running = new Map() // a command's text → the sessions that are about to run it

  await ctx.tool.hook("execute.before", async (event) => {
    await house.before(event.tool, event.sessionID, event.id ?? event.callID, event.input)
    const command = event.input?.command
    if (typeof command === "string") running.set(command, (running.get(command) ?? new Set()).add(event.sessionID))
  })
  await ctx.tool.hook("execute.after", async (event) => {
    running.get(event.input?.command)?.delete(event.sessionID)
    const told = await house.after(event.tool, event.sessionID, event.id ?? event.callID, event.input)
    if (!told) return
    const result = event.result
    if (typeof result === "string") event.result = `${result}\n\n${told}`
    else if (typeof result?.content === "string") result.content += `\n\n${told}`
    else if (Array.isArray(result?.content)) result.content.push({ type: "text", text: told })
    else if (typeof event.error?.message === "string") event.error = { ...event.error, message: `${event.error.message}\n\n${told}` }
  })
  await ctx.session.hook("context", async (event) => {
    for (const text of await house.context(event.sessionID)) event.system.push({ type: "text", text })
  })
  await ctx.shell?.hook?.("create.before", async (event) => {
    const sessions = [...(running.get(event.command) ?? [])]
    if (sessions.length === 1) Object.assign(event.env, await house.variables(sessions[0])) // else it is not certain
  })

  const events = ctx.event?.subscribe?.()
  let open = true
  if (events?.[Symbol.asyncIterator]) {
    void (async () => {
      for await (const event of events) {
        if (!open) break
        const about = event.data ?? event.properties ?? {}
        const session = about.sessionID ?? about.info?.id
        if (!session) continue
        if (event.type === "session.created") house.created(session, about.parentID ?? about.info?.parentID)
        else if (event.type === "session.compaction.ended") house.compacted(session)
        else if (event.type === "session.idle" || event.type === "session.execution.succeeded") void house.idle(session)
        else if (event.type === "session.deleted") void house.deleted(session)
        else if (ASKING.has(event.type)) void house.asks(session, about.title)
      }
    })().catch(() => {})
  }
  return async () => {
    open = false
    await house.end()
  }
}

export default { id: "dibs", server, setup }
