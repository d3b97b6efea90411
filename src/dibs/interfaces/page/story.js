// The parts of a story in the drawer: its head, its facts, and the events about it.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./lib.js";
import { S, asked } from "./store.js";
import { aboutOf } from "./model.js";
import { Icon, Said } from "./parts.js";
import { close } from "./route.js";
import { useSentences } from "./sentences.js";
import { clock, count, look, says, time } from "./words.js";

const SHOWN = 200; // events of a story; the log has the rest

export function Head({ icon, tone, children, note }) {
  const focus = useRef(null);
  useLayoutEffect(() => {
    focus.current?.focus({ preventScroll: true });
  }, []);
  return html`
    <header>
      <h2>${icon && html`<${Icon} name=${icon} tone=${tone} />`}${children}</h2>
      <button class="ib" ref=${focus} aria-label="Close (Esc)" onClick=${close}><${Icon} name="x" /></button>
      <span class="c2">${note}</span>
    </header>
  `;
}

/** Events about one thing: those that are here at once, then what the server's log has of it. */
export function Story({ id, test, query, about: what }) {
  const [older, setOlder] = useState([]);
  const live = S.phase === "live";
  useEffect(() => {
    if (!query || !live) return undefined;
    return asked("log", { ...query, limit: SHOWN, sentences: true }, (page) => setOlder(page.events));
  }, [id, !query, live]);
  const found = new Map(older.map((e) => [e.seq, e]));
  for (const e of S.events) {
    if (test(e)) found.set(e.seq, e);
  }
  const list = [...found.values()].sort((a, b) => b.seq - a.seq).slice(0, SHOWN);
  const told = useSentences(what, list[0]?.seq);
  return html`
    <h3>Story <span>${count(list.length, "event")}, newest first</span></h3>
    <ol>
      ${list.map((e) => {
        const [icon, tone] = look(e);
        const about = aboutOf(e);
        return html`
          <li class="st" key=${e.seq}>
            <span class="t">${clock(time(e.at))}</span>
            <${Icon} name=${icon} tone=${tone} />
            <span class="x">
              ${told.get(e.seq) || e.text ? html`<${Said} text=${told.get(e.seq) || e.text} />` : html`
                <b>${e.name || e.agent}</b> ${e.kind.replace(".", " ")} ${about && html`<code>${about}</code>`}${" "}
                <span class="c2">${says(e)}</span>
              `}${" "}
              <button class="lnk q" data-open=${`ev:${e.seq}`}>#${e.seq}</button>
            </span>
          </li>
        `;
      })}
    </ol>
  `;
}

export const Facts = ({ rows }) => html`
  <dl class="fx">
    ${rows.filter(Boolean).map(([k, v], i) => html`<dt key=${`t${i}`}>${k}</dt><dd key=${`d${i}`}>${v}</dd>`)}
  </dl>
`;
