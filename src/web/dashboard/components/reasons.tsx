import type { JSX } from 'preact';
import { cutText, visibleText } from '../visible-text.ts';

const SHOWN = 3;

/** The first three reasons, and how many more there are. */
export function Reasons({
  reasons,
  shown = SHOWN,
}: {
  readonly reasons: readonly string[];
  readonly shown?: number;
}): JSX.Element {
  if (reasons.length === 0) return <span class="faint">–</span>;
  const rest = reasons.length - shown;
  return (
    <span class="reasons">
      {reasons.slice(0, shown).map((reason) => (
        <span key={reason} class="reason">
          {cutText(visibleText(reason), 40)}
        </span>
      ))}
      {rest > 0 && (
        <span class="reason" title={visibleText(reasons.slice(shown).join(', '))}>
          +{rest}
        </span>
      )}
    </span>
  );
}
