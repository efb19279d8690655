import type { JSX } from 'preact';
import type { ExplainedDecisionBody } from '../../../../contract/wire-types.ts';
import { Section } from '../../components/pane.tsx';
import { ReasonName } from '../../components/reason-name.tsx';
import { Text } from '../../components/text.tsx';
import { signalRows, tokenEvidence } from './signal-rows.ts';

/** The decoded signals of the token beside the server's own view of the request. */
export function TokenSignalTable({ decision }: { readonly decision: ExplainedDecisionBody }): JSX.Element {
  const { signals } = decision;
  const evidence = tokenEvidence(decision);
  return (
    <Section title="Token and server" note="what the rules read; the token itself is not kept">
      <div class="stack">
        {signals === null ? (
          <p class="muted">{absenceOf(decision)}</p>
        ) : (
          <table class="table table-plain table-wraps">
            <caption class="hidden-text">What the token says beside what the server saw</caption>
            <thead>
              <tr>
                <th scope="col">About</th>
                <th scope="col">Token says</th>
                <th scope="col">Server saw</th>
              </tr>
            </thead>
            <tbody>
              {signalRows(signals).map(({ about, token, server }) => (
                <tr key={about}>
                  <th scope="row">{about}</th>
                  <td>{token ?? <span class="muted">–</span>}</td>
                  <td>{server}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {evidence.length > 0 && (
          <div>
            <h3>Values that rules found</h3>
            <ul class="stack">
              {evidence.map(({ reason, evidence: found }) => (
                <li key={reason}>
                  <ReasonName code={reason} />: <Text value={found} charactersMax={300} />
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
    </Section>
  );
}

function absenceOf({ session_mode: mode, decision }: ExplainedDecisionBody): string {
  if (mode === 'no_session') return 'No token was sent, so no rule looked at the request.';
  if (decision === 'ALLOW')
    return 'Signals of most allowed decisions are not kept: only those of the sample that the policy sets (log_features_sample).';
  return 'The signals of this decision are those of another build of the service, which this one cannot read.';
}
