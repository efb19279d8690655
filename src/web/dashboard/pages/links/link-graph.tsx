import {
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  forceX,
  forceY,
  type SimulationNodeDatum,
} from 'd3-force';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { countOf, DECISION_CLASSES } from '../../format.ts';
import { linkPath, kindWords, shortValue } from '../../link-path.ts';
import { useLink } from '../../url-state.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import type { GraphEdge, GraphNode } from './graph-data.ts';

const WIDTH = 520;
const HEIGHT = 420;
/** Choice: the forces have settled by then; 60 nodes take some 30 ms. Nothing is animated. */
const TICKS = 250;
const LABELS_MAX = 14;

interface Placed extends SimulationNodeDatum {
  readonly node: GraphNode;
  readonly radius: number;
}

function place(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): readonly Placed[] {
  const most = Math.max(1, ...nodes.map(({ count }) => count));
  const placed: Placed[] = nodes.map((node, n) => ({
    node,
    radius: n === 0 ? 11 : 4 + 6 * Math.sqrt(node.count / most),
    ...(n === 0 ? { fx: 0, fy: 0 } : {}),
  }));
  forceSimulation(placed)
    .force(
      'link',
      forceLink(edges.map(({ source, target }) => ({ source, target })))
        .distance(70)
        .strength(0.25),
    )
    .force('charge', forceManyBody().strength(-140))
    .force('x', forceX().strength(0.06))
    .force('y', forceY().strength(0.1))
    .force(
      'collide',
      forceCollide<Placed>(({ radius }) => radius + 5),
    )
    .stop()
    .tick(TICKS);
  return placed;
}

/** Scales the positions into the picture, with a margin for labels. */
function fit(placed: readonly Placed[]): readonly { readonly x: number; readonly y: number }[] {
  const farX = Math.max(1, ...placed.map(({ x = 0 }) => Math.abs(x)));
  const farY = Math.max(1, ...placed.map(({ y = 0 }) => Math.abs(y)));
  const scaleX = Math.min(1.6, (WIDTH / 2 - 60) / farX);
  const scaleY = Math.min(1.6, (HEIGHT / 2 - 24) / farY);
  return placed.map(({ x = 0, y = 0 }) => ({ x: WIDTH / 2 + x * scaleX, y: HEIGHT / 2 + y * scaleY }));
}

/** The neighbours of a subject and what connects them. A picture for the mouse: the table beside it has the same. */
export default function LinkGraph({
  nodes,
  edges,
}: {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}): JSX.Element {
  const link = useLink();
  const placed = useMemo(() => place(nodes, edges), [nodes, edges]);
  const at = fit(placed);
  return (
    <svg class="graph" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      {edges.map(({ source, target, count }) => (
        <line
          key={`${source} ${target}`}
          class={source === 0 ? 'graph-spoke' : 'graph-edge'}
          x1={at[source]?.x}
          y1={at[source]?.y}
          x2={at[target]?.x}
          y2={at[target]?.y}
          stroke-width={Math.min(4, 0.6 + Math.log2(count) / 2)}
        />
      ))}
      {placed.map(({ node: { kind, id, worst, count }, radius }, n) => {
        const { x = 0, y = 0 } = at[n] ?? {};
        const words = `${kindWords(kind)} ${cutText(visibleText(shortValue(kind, id)), 24)}`;
        return (
          <a
            key={`${kind} ${id}`}
            class={worst === null ? 'graph-subject' : DECISION_CLASSES[worst]}
            href={link(linkPath(kind, id))}
            tabindex={-1}
          >
            <title>{`${words}: ${countOf(count, 'decision')}`}</title>
            <circle class="graph-node" cx={x} cy={y} r={radius} />
            {n < LABELS_MAX && (
              <text class="graph-label" x={x} y={y + radius + 11} text-anchor="middle">
                {cutText(visibleText(shortValue(kind, id)), 18)}
              </text>
            )}
          </a>
        );
      })}
    </svg>
  );
}
