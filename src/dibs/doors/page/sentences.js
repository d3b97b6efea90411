// The sentences of a story: what `dibs explain` says of each event, by its number. The drawer shows them where they are.
import { useEffect, useState } from "./lib.js";
import * as api from "./api.js";
import { S } from "./store.js";
import { isName } from "./words.js";

const MOST = 200, PAUSE_MS = 2000; // steps; between two questions while the story goes on
const NONE = new Map();

/** What `explain` is asked for: the kind is said, so that no word is taken for something else. */
export const aboutFile = (id) => (isName(id) ? id : `path:${id}`);

/** Event number → its sentence; asked for again when the story has a new event. */
export function useSentences(what, newest) {
  const [told, setTold] = useState(NONE);
  useEffect(() => setTold(NONE), [what]);
  useEffect(() => {
    let gone = false;
    const ask = () => api.call("explain", { what, limit: MOST }).then((found) => { if (!gone) setTold(new Map(found.steps.map((s) => [s.seq, s.sentence]))); }, () => {});
    if (!what || S.phase !== "live") return undefined;
    const timer = setTimeout(ask, told === NONE ? 0 : PAUSE_MS);
    return () => { gone = true; clearTimeout(timer); };
  }, [what, newest]);
  return told;
}
