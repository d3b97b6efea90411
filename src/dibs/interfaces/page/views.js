// The views, in the order of their tabs: all that the rest of the page knows of them. A new view is a file of its own
// and one row here.
import { S } from "./store.js";
import { Overview } from "./overview.js";
import { Timeline, zoom } from "./timeline.js";
import { Tasks } from "./tasks.js";
import { Graph, scaleBy } from "./graph.js";
import { Log } from "./log.js";
import { Health } from "./health.js";
import { Worktrees } from "./worktrees.js";

const executing = (m) => (m.taskOf.size ? m.tasks.filter((t) => t.state === "executing").length : 0);
const conflicts = () => S.radar?.conflicts.length || 0;

// key: the one after `g`, a letter of the title; a digit takes the view of that place
// was: its name in addresses of earlier versions
// badge: the number on the tab, from the model; alarming: it has the colour of waiting
// empty: shown in an empty workspace, too
// pointing: what belongs to an agent that is pointed at stands out
// zoom: what `[` and `]` do, by a factor of the time or size that is shown
export const VIEWS = [
  { id: "overview", title: "Overview", icon: "ov", key: "o", component: Overview, pointing: true },
  { id: "timeline", title: "Timeline", icon: "tl", key: "t", component: Timeline, pointing: true, zoom },
  { id: "tasks", title: "Tasks", icon: "bd", key: "k", component: Tasks, badge: executing, empty: true },
  {
    id: "waits",
    was: "graph",
    title: "Waits",
    icon: "gr",
    key: "w",
    component: Graph,
    badge: (m) => m.waits.length,
    alarming: true,
    zoom: (by) => scaleBy(1 / by),
  },
  { id: "log", title: "Log", icon: "lg", key: "l", component: Log, empty: true },
  {
    id: "worktrees",
    title: "Worktrees",
    icon: "merge",
    key: "r",
    component: Worktrees,
    badge: conflicts,
    alarming: true,
    empty: true,
  },
  { id: "health", was: "oversight", title: "Health", icon: "os", key: "h", component: Health, empty: true },
];

/** The view of this name, else the first one. */
export const viewOf = (id) => VIEWS.find((view) => view.id === id || view.was === id) || VIEWS[0];
