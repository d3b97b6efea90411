// The views, in the order of their tabs: all that the rest of the page knows of them. A new view is a file of its own
// and one row here.
import { S } from "./store.js";
import { Overview } from "./overview.js";
import { Timeline } from "./timeline.js";
import { Tasks } from "./tasks.js";
import { Graph } from "./graph.js";
import { Log } from "./log.js";
import { Oversight } from "./oversight.js";
import { Worktrees } from "./worktrees.js";

const executing = (m) => (m.taskOf.size ? m.tasks.filter((t) => t.state === "executing").length : 0);
const conflicts = () => S.radar?.conflicts.length || 0;

// key: the one after `g`; mnemonic: why it is that letter
// badge: the number on the tab, from the model; alarming: it has the colour of waiting
// empty: shown in an empty workspace, too
// pointing: what belongs to an agent that is pointed at stands out
export const VIEWS = [
  { id: "overview", title: "Overview", icon: "ov", key: "o", component: Overview, pointing: true },
  { id: "timeline", title: "Timeline", icon: "tl", key: "t", component: Timeline, pointing: true },
  { id: "tasks", title: "Tasks", icon: "bd", key: "b", mnemonic: "board", component: Tasks, badge: executing },
  {
    id: "graph",
    title: "Graph",
    icon: "gr",
    key: "w",
    mnemonic: "who waits",
    component: Graph,
    badge: (m) => m.waits.length,
    alarming: true,
  },
  { id: "log", title: "Log", icon: "lg", key: "l", component: Log, empty: true },
  {
    id: "worktrees",
    title: "Worktrees",
    icon: "merge",
    key: "m",
    mnemonic: "merges",
    component: Worktrees,
    badge: conflicts,
    alarming: true,
    empty: true,
  },
  { id: "oversight", title: "Oversight", icon: "os", key: "c", mnemonic: "check", component: Oversight },
];

/** The view of this name, else the first one. */
export const viewOf = (id) => VIEWS.find((view) => view.id === id) || VIEWS[0];
