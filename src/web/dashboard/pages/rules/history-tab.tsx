import type { JSX } from 'preact';
import type { PolicyHistoryBody } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { Section } from '../../components/pane.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { Time } from '../../components/time.tsx';
import { countOf } from '../../format.ts';
import { useLive } from '../../use-live.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import { DifferenceTable } from './difference-table.tsx';

const POLL_MS = 30_000;

/** Each policy that was loaded, and what it changed. */
export function HistoryTab(): JSX.Element {
  const history = useLive<PolicyHistoryBody>(v1('/policy/history'), { everyMs: POLL_MS });
  const rows = history.data?.data ?? [];
  return (
    <StateView of={history} isEmpty={rows.length === 0} empty={<Empty title="No policy was loaded yet" />}>
      {() => (
        <div class="stack">
          {rows.map(({ at, version, source, differences, is_truncated: isTruncated }, n) => (
            <Section
              key={`${version} ${at}`}
              title={`Version ${cutText(visibleText(version), 40)}`}
              note={
                <>
                  {at > 0 && (
                    <>
                      <Time at={at} /> ·{' '}
                    </>
                  )}
                  {source === 'file' ? 'from the policy file' : 'the default policy'}
                  {n === 0 && ' · applies now'}
                  {differences !== null && ` · ${countOf(differences.length, 'change')}`}
                </>
              }
              flush
            >
              {differences === null ? (
                <p class="policy-note muted">The oldest policy that is kept: there is nothing to compare it with.</p>
              ) : (
                <DifferenceTable
                  differences={differences}
                  isTruncated={isTruncated}
                  caption={`Changes of version ${cutText(visibleText(version), 40)}`}
                />
              )}
            </Section>
          ))}
          <p class="muted small">The newest 16 policies are kept.</p>
        </div>
      )}
    </StateView>
  );
}
