import type { JSX } from 'preact';
import { countOf, formatCount } from '../../format.ts';
import { decisionPath } from '../../link-path.ts';
import { useLink } from '../../url-state.ts';
import { visibleText } from '../../visible-text.ts';
import type { SampleBody } from './condition-check.ts';

/** What a condition matches of the newest decisions, and what that leaves open. */
export function SampleView({ sample }: { readonly sample: SampleBody }): JSX.Element {
  const link = useLink();
  const { decisions, matches, undecided, devices, facts_missing: missing, examples } = sample;
  const of = `of the newest ${countOf(decisions, 'decision')}`;
  const words =
    matches === 0 ? `It matches none ${of}` : `It matches ${formatCount(matches)} ${of}, ${countOf(devices, 'device')}`;
  return (
    <p class="field-hint">
      {words}
      {examples.length > 0 && ': '}
      {examples.map((id, at) => (
        <span key={id}>
          {at > 0 && ', '}
          <a href={link(decisionPath(id))}>decision {at + 1}</a>
        </span>
      ))}
      .
      {undecided > 0 &&
        ` ${formatCount(undecided)} more depend on what is not kept (${missing.map(visibleText).join(', ')}); trying it on the past knows that.`}
    </p>
  );
}
