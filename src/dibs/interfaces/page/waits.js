// Who waits for whom, in words: for the overview and the graph.
import { html } from "./lib.js";
import { nameOf } from "./store.js";
import { group } from "./model.js";
import { Menu } from "./menu.js";
import { Button, Down, Icon, Path, Up } from "./parts.js";
import { baseName, count } from "./words.js";

/** One waiter, or one step of a refused deadlock. */
export function WaitRow({ agent, resource, holder, at, refused = false, claim = null }) {
  return html`
    <li class="wr" data-row tabindex="-1" data-open=${`file:${resource}`} data-ag=${agent} data-hl=${agent}>
      <b class="el">${nameOf(agent)}</b>
      <span class="arr">
        <span class=${refused ? "c-bad" : "c-wait"}>${refused ? "was refused" : "waits"}</span>
        ${holder && html`<span class="c2">${refused ? "what" : "for"}</span><b class="el">${nameOf(holder)}</b>`}
        ${holder && refused && html`<span class="c2">holds</span>`}
      </span>
      <span class=${`nw ${refused ? "c-bad" : "c-wait"}`}><${Up} at=${at} />${refused ? " ago" : ""}</span>
      <span class="l2">
        <${Path} path=${resource} />
        ${claim?.expires_at && html`
          <span class="c3 nw">
            ${claim.resource !== resource ? `in ${claim.resource}, ` : ""}
            <${Down} until=${claim.expires_at} /> left
          </span>
        `}
      </span>
    </li>
  `;
}

const keyOf = (w) => `${w.agent} ${w.resources[0]}`;

const Alone = ({ w }) => html`
  <${WaitRow}
    agent=${w.agent}
    resource=${w.resources[0]}
    holder=${w.holders[0]?.agent}
    at=${w.since}
    claim=${w.holders[0]}
  />
`;

/** All who wait for one holder, and what can be done about it. */
function HeldUp({ holder, waits, act }) {
  const held = waits[0].holders[0]?.resource || waits[0].resources[0];
  const more = [
    { text: `Release ${baseName(held)}…`, action: `release:${held}`, op: "release", danger: true },
    { text: `Message ${nameOf(holder)}…`, action: `msg:${holder}`, op: "send" },
    { text: `Show ${nameOf(holder)}`, action: `open:agent:${holder}` },
  ];
  return html`
    <div class="ch one">
      ${holder && html`
        <div class="cap who mut-act">
          <span class="el">${nameOf(holder)} <span class="c2">holds up ${count(waits.length, "agent")}</span></span>
          <span class="trayact">
            <${Button} act=${act} action=${`ask:${held}`} op="ask">Ask to release…<//>
            <${Menu} label=${`More about ${nameOf(holder)}`} actions=${more} act=${act} />
          </span>
        </div>
      `}
      <ul>${waits.map((w) => html`<${Alone} key=${keyOf(w)} w=${w} />`)}</ul>
    </div>
  `;
}

/** Deadlocks kept together, then who waits by itself; with `act` by holder, and with what resolves it. */
export function Waits({ m, after = null, most = 60, act = null }) {
  if (!m.waits.length && !m.deadlocks.length) {
    return html`<div class="ch"><div class="cap c-ok"><${Icon} name="ok" />Nobody waits</div></div>`;
  }
  const inside = new Set(m.deadlocks.flatMap((d) => d.steps.map((s) => s.agent)));
  const alone = m.waits.filter((w) => !inside.has(w.agent)).slice(0, most);
  return html`
    ${m.deadlocks.map(
      (d) => html`
        <div class="ch cyc" key=${`d${d.seq}`}>
          <div class="cap c-bad">
            <${Icon} name="cycle" />
            Deadlock of${" "}
            ${d.steps.length}, refused${d.seq > 0 && html` <button class="lnk c3" data-open=${`ev:${d.seq}`}>
                #${d.seq}
              </button>
            `}
          </div>
          <ul>
            ${d.steps.map((s) => {
              const w = m.waitOf.get(s.agent);
              const me = s.agent === d.agent && !w;
              return html`
                <${WaitRow}
                  key=${s.agent}
                  agent=${s.agent}
                  resource=${w?.resources[0] || s.resource}
                  holder=${s.holder}
                  at=${me ? d.at : w?.since || s.since}
                  refused=${me}
                  claim=${w?.holders[0]}
                />
              `;
            })}
          </ul>
          ${after && after(d)}
        </div>
      `,
    )}
    ${act
      ? [...group(alone, (w) => w.holders[0]?.agent || "")].map(
          ([holder, waits]) => html`<${HeldUp} key=${holder} holder=${holder} waits=${waits} act=${act} />`,
        )
      : alone.map((w) => html`<div class="ch one" key=${keyOf(w)}><ul><${Alone} w=${w} /></ul></div>`)}
    ${m.waits.length > most && html`<p class="pad c3">and ${m.waits.length - most} more</p>`}
  `;
}
