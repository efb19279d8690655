import type { LinkSummaryBody, LoggedDecisionRow } from '../../../../contract/wire-types.ts';

/** Choice: a graph with more nodes is unreadable. */
const NODES_MAX = 60;
const EDGES_MAX = 180;

type NeighbourBody = LinkSummaryBody['neighbours'][number];

export interface GraphNode extends Pick<NeighbourBody, 'kind' | 'id' | 'count'> {
  /** null: the subject itself. */
  readonly worst: NeighbourBody['worst'] | null;
}

export interface GraphEdge {
  /** Positions in the list of nodes. */
  readonly source: number;
  readonly target: number;
  /** Decisions that have both. */
  readonly count: number;
}

/** Returns the subject (the first node), its neighbours with the most decisions, and which of them occur together in a decision. */
export function toGraph(
  subject: Pick<NeighbourBody, 'kind' | 'id' | 'count'>,
  neighbours: readonly NeighbourBody[],
  rows: readonly LoggedDecisionRow[],
): { readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdge[] } {
  const shown = neighbours.slice(0, NODES_MAX - 1);
  const nodes: GraphNode[] = [{ ...subject, worst: null }, ...shown];
  const positions = new Map(shown.map(({ kind, id }, n) => [`${kind} ${id}`, n + 1]));
  const pairs = new Map<number, number>();
  for (const { links } of rows) {
    const present = links.flatMap(({ kind, id }) => positions.get(`${kind} ${id}`) ?? []).sort((a, b) => a - b);
    for (const [n, source] of present.entries())
      for (const target of present.slice(n + 1)) {
        const pair = source * NODES_MAX + target;
        pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
      }
  }
  const between = [...pairs]
    .sort((a, b) => b[1] - a[1])
    .slice(0, EDGES_MAX)
    .map(([pair, count]) => ({ source: Math.floor(pair / NODES_MAX), target: pair % NODES_MAX, count }));
  return { nodes, edges: [...shown.map(({ count }, n) => ({ source: 0, target: n + 1, count })), ...between] };
}
