// The server: signing in, operations, the stream of events. A session's cookie is bound to `/s/ID/`, so all goes there.

const KEPT = "dibs.client";
let id = "";
try {
  id = localStorage.getItem(KEPT) || "";
} catch {
  /* a browser without storage: signed in until it is closed */
}

export class Refused extends Error {
  constructor(status, error) {
    super(error?.message || `the server answered ${status}`);
    this.status = status;
    this.code = error?.code || "unavailable";
    this.facts = error || {};
  }
}

const keep = (value) => {
  id = value;
  try {
    if (value) {
      localStorage.setItem(KEPT, value);
    } else {
      localStorage.removeItem(KEPT);
    }
  } catch {
    /* see above */
  }
};
export const signedIn = () => id !== "";
export const forget = () => keep("");
const HEADERS = { "content-type": "application/json", "x-dibs-page": "1" };
const TIMEOUT_MS = 15000;
export let skew = 0; // the server's clock minus ours, if they differ by more than a breath

async function ask(path, init) {
  let reply;
  try {
    reply = await fetch(path, {
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...init,
    });
  } catch (error) {
    throw new Refused(0, { code: "unavailable", message: `the server does not answer (${error.name})` });
  }
  const date = Date.parse(reply.headers.get("date") || "");
  if (date) {
    const off = date + 500 - Date.now();
    skew = Math.abs(off) > 2500 ? off : 0;
  }
  let body = null;
  try {
    body = await reply.json();
  } catch {
    /* half an answer */
  }
  if (!reply.ok || body === null) throw new Refused(reply.status, body?.error);
  return body;
}

/** Sign in with a token, or with the code of `dibs serve --open`. Neither is kept. */
export async function signIn({ token, code }) {
  const headers = token ? { ...HEADERS, authorization: `Bearer ${token}` } : HEADERS;
  const made = await ask("/session", { method: "POST", headers, body: JSON.stringify(code ? { code } : {}) });
  keep(made.session);
}

export async function signOut() {
  try {
    await ask(`/s/${id}/session`, { method: "POST", headers: HEADERS, body: "{}" });
  } catch {
    /* the cookie goes with the id */
  }
  keep("");
}

export const me = () => ask(`/s/${id}/session`, {});
export const call = (operation, fields = {}) =>
  ask(`/s/${id}/v1/${operation.replaceAll(" ", "/")}`, {
    method: "POST",
    headers: HEADERS,
    body: JSON.stringify(fields),
  });

/** All entries of a listing, by pages, up to a limit; `true` if there are more. */
export async function pages(operation, key, fields, most) {
  const found = [];
  let first = null;
  let after = null;
  let more = true;
  while (more && found.length < most) {
    const page = await call(operation, after === null ? fields : { ...fields, after });
    first ??= page;
    found.push(...page[key]);
    more = page.more;
    after = page.cursor;
    if (after === null || after === undefined) break;
  }
  return { first, found, more };
}

/**
 * The log from an event on: `heard` gets the events of each piece, `gap` is called where some were pruned. Ends by
 * throwing.
 */
export async function stream(from, { heard, gap, open, signal }) {
  const reply = await fetch(`/s/${id}/events?from=${from}`, {
    credentials: "same-origin",
    cache: "no-store",
    signal,
  });
  if (!reply.ok) {
    let body = null;
    try {
      body = await reply.json();
    } catch {
      /* none */
    }
    throw new Refused(reply.status, body?.error);
  }
  open();
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Refused(0, { code: "unavailable", message: "the server ended the stream" });
    rest += value;
    const frames = rest.split("\n\n");
    rest = frames.pop();
    const found = [];
    for (const frame of frames) {
      const lines = frame.split("\n");
      const data = lines.find((l) => l.startsWith("data: "));
      if (!data) continue;
      const object = JSON.parse(data.slice(6));
      if (lines.includes("event: gap") && !lines.some((l) => l.startsWith("id: "))) {
        if (found.length) heard(found.splice(0));
        gap(object);
      } else {
        found.push(object);
      }
    }
    heard(found);
  }
}
