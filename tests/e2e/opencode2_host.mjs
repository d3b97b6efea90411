// A host of plugins as OpenCode 2.x documents it, in as far as dibs' plugin uses it: setup(ctx) registers hooks for tools,
// the session's context and shells. It makes the calls that it reads on stdin, runs what no hook objects to, and prints
// one line of JSON for each. ses_child is a session that ses_two has started.
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const plugin = (await import(pathToFileURL(process.argv[2]))).default
const hooks = {}
const domain = (name) => ({
  hook: async (event, callback) => {
    hooks[`${name}.${event}`] = callback
    return { dispose: async () => {} }
  },
})
const session = {
  ...domain("session"),
  get: async ({ sessionID }) => ({ id: sessionID, parentID: sessionID === "ses_child" ? "ses_two" : undefined }),
}
const context = {
  location: { directory: process.cwd() },
  session,
  tool: domain("tool"),
  shell: domain("shell"),
  event: { subscribe: async function* () {} },
}
const cleanup = await plugin.setup(context)

async function execute(call, id) {
  const event = { tool: call.tool, sessionID: call.session, agent: "build", messageID: "msg", id, input: call.input }
  try {
    await hooks["tool.execute.before"](event)
  } catch (error) {
    return { error: error.message }
  }
  let content = "done"
  if (call.tool === "shell") {
    const shell = { command: call.input.command, cwd: process.cwd(), timeout: 60_000, shell: "sh", env: { ...process.env } }
    await hooks["shell.create.before"](shell)
    content = execFileSync("sh", ["-c", shell.command], { cwd: shell.cwd, env: shell.env, encoding: "utf8" })
  } else {
    writeFileSync(call.input.path, call.input.content)
  }
  const after = { ...event, status: "completed", result: { content } }
  await hooks["tool.execute.after"](after)
  return { output: after.result.content }
}

let number = 0
for (const call of JSON.parse(readFileSync(0, "utf8"))) {
  number += 1
  if (call.context) {
    const event = { sessionID: call.context, agent: "build", system: [], messages: [], tools: {} }
    await hooks["session.context"](event)
    console.log(JSON.stringify({ system: event.system.map((part) => part.text).join("\n") }))
  } else {
    console.log(JSON.stringify(await execute(call, `call_${number}`)))
  }
}
await cleanup()
