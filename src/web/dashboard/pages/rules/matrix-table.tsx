import type { JSX } from 'preact';
import type { Decision } from '../../../../contract/vocabulary.ts';
import { DecisionBadge, DecisionShape } from '../../components/decision-badge.tsx';
import { DECISION_CLASSES, DECISION_ORDER, DECISION_WORDS, formatCount } from '../../format.ts';

/** Decision before → decision after → decisions. */
export type MatrixCounts = Readonly<Record<string, Readonly<Record<string, number>> | undefined>>;

/** How many decisions move from value to value: rows before, columns after. `link`: a moved count links to its examples. */
export function MatrixTable({
  matrix,
  caption,
  rowsTitle,
  link,
  isNarrow = false,
}: {
  readonly matrix: MatrixCounts;
  readonly caption: string;
  readonly rowsTitle: string;
  readonly link?: (from: Decision, to: Decision) => { readonly href: string; readonly isCurrent: boolean };
  /** For a pane: values are shapes, with their words for readers of screens. */
  readonly isNarrow?: boolean;
}): JSX.Element {
  const most = Math.max(1, ...DECISION_ORDER.flatMap((from) => DECISION_ORDER.map((to) => countAt(matrix, from, to))));
  return (
    <div class="table-frame">
      <table class={`table table-plain matrix ${isNarrow ? 'matrix-narrow' : ''}`}>
        <caption class="matrix-caption">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{rowsTitle}</th>
            {DECISION_ORDER.map((to) => (
              <th key={to} scope="col" class="right" title={DECISION_WORDS[to]}>
                <span class={`matrix-word ${DECISION_CLASSES[to]}`}>
                  <DecisionShape value={to} size={9} /> <span>{DECISION_WORDS[to]}</span>
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {DECISION_ORDER.map((from) => (
            <tr key={from}>
              <th scope="row">
                <DecisionBadge value={from} />
              </th>
              {DECISION_ORDER.map((to) => (
                <MatrixCell key={to} from={from} to={to} count={countAt(matrix, from, to)} most={most} link={link} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function MatrixCell({
  from,
  to,
  count,
  most,
  link,
}: {
  readonly from: Decision;
  readonly to: Decision;
  readonly count: number;
  readonly most: number;
  readonly link: ((from: Decision, to: Decision) => { readonly href: string; readonly isCurrent: boolean }) | undefined;
}): JSX.Element {
  const isMoved = from !== to && count > 0;
  const { href, isCurrent } = (isMoved && link?.(from, to)) || { href: null, isCurrent: false };
  return (
    <td
      class={`right matrix-cell ${from === to ? 'matrix-same' : ''}`}
      style={isMoved ? { '--share': `${Math.max(12, Math.round((count / most) * 60))}%` } : undefined}
    >
      {href === null ? (
        <span class={count === 0 ? 'faint' : isMoved ? 'matrix-moved' : undefined}>{formatCount(count)}</span>
      ) : (
        <a
          href={href}
          aria-current={isCurrent ? 'true' : undefined}
          aria-label={`${formatCount(count)} from ${DECISION_WORDS[from]} to ${DECISION_WORDS[to]}: examples`}
        >
          {formatCount(count)}
        </a>
      )}
    </td>
  );
}

function countAt(matrix: MatrixCounts, from: Decision, to: Decision): number {
  return matrix[from]?.[to] ?? 0;
}
