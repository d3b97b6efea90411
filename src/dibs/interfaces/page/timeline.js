// Timeline: how it came to this. The lanes of lanes.js in a window of time, and the histogram that it is chosen in.
import { html, useRef } from "./lib.js";
import { S, now } from "./store.js";
import { Icon } from "./parts.js";
import { choose, ui } from "./route.js";
import { Lanes, WHOLE, extent } from "./lanes.js";
import { clock, time } from "./words.js";

const BINS = 60;

const LEAST = 0.5; // minutes that are shown of a workspace that has just begun
const RANGES = [
  ["15 m", -15, 5],
  ["30 m", -30, 10],
  ["2 h", ...WHOLE],
];

/** What was chosen; else a quarter of an hour, or less where that has all there is. */
export function range() {
  if (ui.range) return ui.range;
  const minutes = extent() * 1.08;
  if (minutes >= 15) return RANGES[0].slice(1);
  const past = Math.max(LEAST, minutes);
  return [-past, past / 3];
}
/** All that happened in the two hours. */
const all = () => {
  const past = Math.min(-WHOLE[0], Math.max(LEAST, extent() * 1.04));
  return [-past, past / 4];
};
export function zoom(by) {
  const [a, b] = range();
  const width = Math.max(1, Math.min(150, (b - a) * by));
  const end = Math.min(b, Math.max(0.2, width * 0.2));
  ui.range = [Math.max(WHOLE[0], end - width), end];
}

/** What the histogram covers, in minutes around now: two hours, or less of a workspace that is younger. */
const whole = () => (extent() > 30 ? WHOLE : RANGES[1].slice(1));

/** How many events, refusals and alarms there were in each part of the whole window. */
function histogram(t, [begin, end]) {
  const bins = Array.from({ length: BINS }, () => [0, 0, 0]);
  for (let i = S.events.length - 1; i >= 0; i -= 1) {
    const e = S.events[i];
    const k = Math.floor((((time(e.at) - t) / 60000 - begin) / (end - begin)) * BINS);
    if (k < 0) break;
    if (k >= BINS) continue;
    bins[k][0] += 1;
    if (e.kind.endsWith("refused")) bins[k][1] += 1;
    if (/violated|killed/.test(e.kind) || e.data?.code === "deadlock") bins[k][2] += 1;
  }
  return bins;
}

const limited = (minutes, least, most) => Math.min(most, Math.max(least, minutes));

/** What a pointer and the arrows do to the window. */
function useWindow([a, b]) {
  const el = useRef(null);
  const drag = useRef(null);
  const [begin, end] = whole();
  const at = (e) => {
    const box = el.current.getBoundingClientRect();
    return limited(((e.clientX - box.left) / box.width) * (end - begin) + begin, begin, end);
  };
  const onPointerDown = (e) => {
    drag.current = at(e);
    el.current.setPointerCapture(e.pointerId);
  };
  const onPointerMove = (e) => {
    if (drag.current === null) return;
    const p = at(e);
    if (Math.abs(p - drag.current) > 1) choose({ range: [Math.min(p, drag.current), Math.max(p, drag.current)] });
  };
  const onPointerUp = (e) => {
    if (drag.current === null) return;
    const isClick = Math.abs(at(e) - drag.current) <= 1;
    drag.current = null;
    choose({ range: isClick ? all() : ui.range });
  };
  const onKeyDown = (e) => {
    const step = { ArrowLeft: -5, ArrowRight: 5 }[e.key];
    if (!step) return;
    e.preventDefault();
    e.stopPropagation();
    const from = limited(a + step, begin, end - (b - a));
    choose({ range: [from, from + b - a] });
  };
  return { ref: el, onPointerDown, onPointerMove, onPointerUp, onKeyDown };
}

/** The histogram over all, with the window: drag to choose, click for all, arrows to move. */
function Brush() {
  const [a, b] = range();
  const t = now();
  const [begin, end] = whole();
  const bins = histogram(t, [begin, end]);
  const most = Math.max(4, ...bins.map(([all]) => all));
  const bar = (cls, i, n) =>
    n > 0 && html`
      <i
        key=${`${cls}${i}`}
        class=${cls}
        style=${{ left: `${(i / BINS) * 100}%`, height: `${Math.round((34 * n) / most)}px` }}
      ></i>
    `;
  const percent = (minutes) => `${(minutes / (end - begin)) * 100}%`;
  return html`
    <div class="brushbox">
      <span class="c3 brl">Drag to zoom, click for all</span>
      <div
        id="brush"
        role="slider"
        tabindex="0"
        aria-label="Time window; arrows move it, [ and ] zoom"
        aria-valuemin=${begin}
        aria-valuemax=${end}
        aria-valuenow=${Math.round(a)}
        aria-valuetext=${`${clock(t + a * 60000, false)} to ${clock(t + b * 60000, false)}`}
        ...${useWindow([a, b])}
      >
        ${bins.map(([n, r, v], i) => html`${bar("hb", i, n)}${bar("hb r", i, r)}${bar("hb vv", i, v)}`)}
        <div class="win" style=${{ left: percent(a - begin), width: percent(b - a) }}></div>
      </div>
    </div>
  `;
}

export function Timeline() {
  const [a, b] = range();
  const t = now();
  const early = S.events[0] && S.older ? time(S.events[0].at) : 0;
  return html`
    <div class="tl">
      <div class="bar0">
        <span class="seg" role="group" aria-label="Lanes">
          <button aria-pressed=${ui.by === "resource"} onClick=${() => choose({ by: "resource" })}>By resource</button>
          <button aria-pressed=${ui.by === "agent"} onClick=${() => choose({ by: "agent" })}>By agent</button>
        </span>
        <span class="seg" role="group" aria-label="Range">
          <button aria-pressed=${!ui.range} onClick=${() => choose({ range: null })}>Auto</button>
          ${RANGES.map(
            ([w, p, q]) => html`
              <button
                key=${w}
                aria-pressed=${!!ui.range && a === p && b === q}
                onClick=${() => choose({ range: [p, q] })}
              >
                ${w}
              </button>
            `,
          )}
          <button title="Everything of the last two hours" onClick=${() => choose({ range: all() })}>All</button>
        </span>
        <span class="c3 nw">
          ${clock(t + a * 60000, b - a < 10)} to ${clock(t + b * 60000, b - a < 10)}
          ${early > t + a * 60000 ? `; events here from ${clock(early, false)} on` : ""}
        </span>
        <span class="sp"></span>
        <span class="legend">
          <span><i class="sw held"></i>held</span>
          <span><i class="sw past"></i>ended</span>
          <span><i class="sw wg"></i>waiting</span>
          <span><${Icon} name="refused" tone="c-wait" />refused</span>
          <span><${Icon} name="cycle" tone="c-bad" />deadlock</span>
          <span><${Icon} name="viol" tone="c-bad" />violation</span>
          <span><${Icon} name="kill" tone="c-bad" />kill</span>
          <span><${Icon} name="commit" />commit</span>
          <span><${Icon} name="deploy" />deploy</span>
        </span>
      </div>
      <section class="panel tlpanel" aria-label="Lanes">
        <${Brush} />
        <div class="scroll" tabindex="-1"><${Lanes} by=${ui.by} range=${[a, b]} /></div>
      </section>
    </div>
  `;
}
