// Where the agents of the wait graph stand. Each waiter stands right of the agent it waits for, or, in a tree that is
// too wide or too tall for that, below it and indented. Those who wait for one holder and hold up nobody share a box.
// Trees that have nothing to do with each other are packed into the width. Plain numbers, no markup.

export const NODE = { width: 204, height: 44 };
export const CELL = { width: 178, height: 36 };
const GAP = { x: 52, y: 10, trees: 28 };
const INDENT = 34;
const TALL = 480; // a tree to the right may be so tall
const BOX = { pad: 6, from: 4 }; // so many waiters of one holder are a box
const BACK = 34; // room next to a tree for the edges that lead back

/** Waiter → the one edge by which it stands in a tree; all others are drawn across. */
function parentsOf(edges) {
  const parents = new Map();
  const leadsTo = (from, to) => {
    for (let at = from; at !== undefined; at = parents.get(at)?.to) {
      if (at === to) return true;
    }
    return false;
  };
  for (const e of edges) {
    if (!e.refused && !parents.has(e.from) && !leadsTo(e.to, e.from)) parents.set(e.from, e);
  }
  return parents;
}

const columnsFor = (n) => (n <= 6 ? 1 : n <= 16 ? 2 : n <= 36 ? 3 : 4);

/** Measures subtrees. A deadlock stays together; then to the right the largest comes first, indented the last. */
function measured(id, kids, ring, indent) {
  const all = (kids.get(id) || []).map((kid) => measured(kid, kids, ring, indent));
  const leaves = all.filter((kid) => !kid.kids.length && !kid.box && !kid.ring);
  const boxed = leaves.length >= BOX.from ? leaves.map((kid) => kid.id) : [];
  const bySize = (a, b) => (indent ? a.size - b.size : b.size - a.size);
  const rest = all.filter((kid) => !boxed.includes(kid.id)).sort((a, b) => b.ring - a.ring || bySize(a, b));
  const columns = columnsFor(boxed.length);
  const box = boxed.length && {
    ids: boxed,
    columns,
    width: columns * CELL.width + 2 * BOX.pad,
    height: Math.ceil(boxed.length / columns) * CELL.height + 2 * BOX.pad,
  };
  const first = rest.filter((kid) => !indent || kid.ring);
  const below = [...first, ...(box ? [box] : []), ...rest.filter((kid) => !first.includes(kid))];
  const height = below.reduce((sum, one) => sum + one.height + GAP.y, -GAP.y);
  const wide = below.reduce((most, one) => Math.max(most, one.width), 0);
  return {
    id,
    below,
    indent,
    ring: ring.has(id),
    kids: rest,
    box,
    size: all.reduce((sum, kid) => sum + kid.size, 1),
    width: indent ? Math.max(NODE.width, INDENT + wide) : NODE.width + (below.length ? GAP.x + wide : 0),
    height: indent ? NODE.height + (below.length ? GAP.y + height : 0) : Math.max(NODE.height, height),
  };
}

/** Puts a box of waiters at a place. */
function putBox(holder, { ids, columns, width, height }, x, y, out) {
  out.boxes.push({ holder, ids, x, y, width, height });
  ids.forEach((id, i) => {
    const [column, row] = [i % columns, Math.floor(i / columns)];
    const place = { x: x + BOX.pad + column * CELL.width, y: y + BOX.pad + row * CELL.height };
    out.places.set(id, { ...place, ...CELL, cell: true });
  });
}

/** Puts a subtree at a place. */
function put(tree, x, y, out) {
  out.places.set(tree.id, { x, y, ...NODE });
  const left = x + (tree.indent ? INDENT : NODE.width + GAP.x);
  let top = y + (tree.indent ? NODE.height + GAP.y : 0);
  for (const one of tree.below) {
    if (one === tree.box) putBox(tree.id, one, left, top, out);
    else put(one, left, top, out);
    top += one.height + GAP.y;
  }
}

/** Packs trees into shelves of this width, tall ones first; short ones stand below each other. */
function packed(trees, width) {
  const wide = Math.max(width, ...trees.map((tree) => tree.width));
  const placed = [];
  let shelf = null;
  for (const tree of trees) {
    let column = shelf?.columns.find((one) => one.width >= tree.width && one.y + tree.height <= shelf.bottom);
    if (!column && shelf && shelf.right + tree.width <= wide) {
      column = { x: shelf.right, y: shelf.top, width: tree.width };
      shelf.columns.push(column);
      shelf.right += tree.width + GAP.trees;
    }
    if (!column) {
      const top = shelf ? shelf.bottom + GAP.trees : 0;
      column = { x: 0, y: top, width: tree.width };
      shelf = { top, bottom: top + tree.height, right: tree.width + GAP.trees, columns: [column] };
    }
    placed.push({ tree, x: column.x, y: column.y });
    column.y += tree.height + GAP.trees;
  }
  const used = placed.reduce((most, one) => Math.max(most, one.x + one.tree.width), 0);
  return { placed, width: used, height: shelf ? shelf.bottom : 0 };
}

/**
 * The places of all agents of these edges (`{ from, to, ring, refused }`, a waiter and the holder): deadlocks first,
 * then the largest trees, at most `most` agents.
 */
export function waitTrees(edges, width, most) {
  const parents = parentsOf(edges);
  const kids = new Map();
  for (const [id, e] of parents) kids.set(e.to, [...(kids.get(e.to) || []), id]);
  const names = [...new Set(edges.flatMap((e) => [e.to, e.from]))];
  const ring = new Set(edges.filter((e) => e.ring).flatMap((e) => [e.from, e.to]));
  const trees = names
    .filter((id) => !parents.has(id))
    .map((id) => {
      const right = measured(id, kids, ring, false);
      return right.width <= width && right.height <= TALL ? right : measured(id, kids, ring, true);
    });
  const across = edges.filter((e) => parents.get(e.from) !== e);
  const isRing = (tree) => tree.ring || tree.kids.some(isRing);
  const begins = new Map(); // any agent → its root
  const note = (tree, root) => {
    begins.set(tree.id, root);
    for (const id of tree.box?.ids || []) begins.set(id, root);
    for (const kid of tree.kids) note(kid, root);
  };
  for (const tree of trees) note(tree, tree.id);
  const crossed = new Set(across.map((e) => begins.get(e.from)));
  for (const tree of trees) {
    if (!crossed.has(tree.id)) continue;
    if (tree.indent) tree.width += BACK;
    else tree.height += BACK;
  }
  trees.sort((a, b) => isRing(b) - isRing(a) || b.height - a.height || b.size - a.size);
  let left = most;
  const shown = trees.filter((tree) => (left -= tree.size) >= 0 || left + tree.size === most);
  const out = { places: new Map(), boxes: [] };
  const { placed, ...size } = packed(shown, width);
  for (const { tree, x, y } of placed) put(tree, x, y, out);
  const drawn = (e) => out.places.has(e.from) && out.places.has(e.to);
  const inBox = new Set(out.boxes.flatMap((box) => box.ids));
  return {
    ...out,
    ...size,
    names,
    hidden: names.length - out.places.size,
    edges: [...parents.values()].filter((e) => drawn(e) && !inBox.has(e.from)),
    across: across.filter(drawn),
  };
}
