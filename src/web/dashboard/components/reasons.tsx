import type { JSX } from 'preact';
import { visibleText } from '../visible-text.ts';
import { ReasonName } from './reason-name.tsx';

const SHOWN = 1;

/** The first reason by its title, and how many more there are: cut titles say nothing. */
export function Reasons({ reasons }: { readonly reasons: readonly string[] }): JSX.Element {
  if (reasons.length === 0) return <span class="faint">–</span>;
  const rest = reasons.length - SHOWN;
  return (
    <span class="reasons">
      {reasons.slice(0, SHOWN).map((reason) => (
        <span key={reason} class="reason">
          <ReasonName code={reason} />
        </span>
      ))}
      {rest > 0 && (
        <span class="reason reason-rest" title={visibleText(reasons.slice(SHOWN).join(', '))}>
          +{rest}
        </span>
      )}
    </span>
  );
}
