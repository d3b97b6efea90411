// The sentences of a story: what `dibs explain` says of each event, by its number, for the drawer.
import { useEffect, useState } from "./lib.js";
import { S, asked } from "./store.js";
import { isName } from "./words.js";

const MOST = 200;
const PAUSE_MS = 2000; // steps; between two questions while the story goes on
const NONE = new Map();

/** What `explain` is asked for: the kind is said, so that no word is taken for something else. */
export const aboutFile = (id) => (isName(id) ? id : `path:${id}`);

/** Event number → its sentence; asked for again when the story has a new event. */
export function useSentences(what, newest) {
  const [told, setTold] = useState(NONE);
  const live = S.phase === "live";
  useEffect(() => setTold(NONE), [what]);
  useEffect(() => {
    if (!what || !live) return undefined;
    let end = () => {};
    const timer = setTimeout(
      () => {
        end = asked("explain", { what, limit: MOST }, (found) =>
          setTold(new Map(found.steps.map((s) => [s.seq, s.sentence]))),
        );
      },
      told === NONE ? 0 : PAUSE_MS,
    );
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [what, newest, live]);
  return told;
}
