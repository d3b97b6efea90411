// The kinds of alert: what people call each, and its shape.
export const ALERTS = {
  violation: ["Violation", "viol"], deadlock: ["Deadlock", "cycle"], silent: ["Silent", "silent"], dead: ["Dead", "dead"], hold: ["Long hold", "held"], wait: ["Long wait", "wait"],
  expired: ["Expired", "silent"], bypass: ["Bypassed", "commit"], removed: ["Removed", "commit"], deploy_stale: ["Stale deploy", "deploy"], deploy_unverified: ["Unverified deploy", "deploy"],
  poison: ["Poison task", "task"], breaker: ["Breaker open", "refused"], store: ["Store", "viol"], rules: ["Old rules", "msg"],
};
