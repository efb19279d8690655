import type { ComponentChildren, JSX } from 'preact';
import type { ExplainedDecisionBody } from '../../../../contract/wire-types.ts';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { countryName, formatMs, shortHash, asWords } from '../../format.ts';
import { linkPath } from '../../link-path.ts';

const MODES: Readonly<Record<ExplainedDecisionBody['session_mode'], string>> = {
  full: 'a collector token, checked',
  unverified: 'a token that is not the collector’s',
  degraded: 'a token, but a component was not working',
  no_session: 'no token',
};

/** Facts of the request as the service saw them. */
export function DecisionFacts({ decision }: { readonly decision: ExplainedDecisionBody }): JSX.Element {
  const { agent, location, ip, network, country, fingerprint_hash: hash } = decision;
  const automation = agent === null || agent.automation === 'none' ? null : asWords(agent.automation);
  return (
    <dl class="facts">
      <Fact title="Time">
        <Time at={decision.occurred_at} /> (<Time at={decision.occurred_at} ago />)
      </Fact>
      <Fact title="Event">
        <Text value={decision.event_type} charactersMax={64} />
      </Fact>
      <Fact title="Path">
        <Text value={decision.path} charactersMax={100} mono />
      </Fact>
      <Fact title="Address">
        {ip === null ? (
          <Text value={null} />
        ) : (
          <a href={linkPath('ip', ip)}>
            <Text value={ip} mono />
          </a>
        )}
      </Fact>
      <Fact title="Network">
        {network === null ? (
          <Text value={null} />
        ) : (
          <a href={linkPath('network', network)}>
            <Text value={network} mono />
          </a>
        )}
      </Fact>
      <Fact title="Location">
        {country === null ? (
          <Text value={null} />
        ) : (
          <>
            {/^[A-Z]{2}$/.test(country) && countryName(country)}{' '}
            <span class="muted">
              <Text value={country} />
            </span>
          </>
        )}
        {location !== null && (
          <span class="muted num">
            {' '}
            {location.latitude.toFixed(1)}, {location.longitude.toFixed(1)}
            {location.accuracy_km === null ? '' : ` ± ${location.accuracy_km} km`}
          </span>
        )}
      </Fact>
      <Fact title="Browser">
        <Text value={agent === null ? null : `${agent.browser} on ${agent.system}, ${agent.form}`} />
        {automation !== null && <span class="tag">{automation}</span>}
      </Fact>
      <Fact title="Session">{MODES[decision.session_mode]}</Fact>
      <Fact title="Fingerprint">
        {hash === null ? (
          <Text value={null} />
        ) : (
          <a href={linkPath('fingerprint', hash)} title={hash}>
            <Text value={shortHash(hash)} mono /> <span>of the device</span>
          </a>
        )}
      </Fact>
      <Fact title="Policy">
        <Text value={decision.policy_version} mono />
      </Fact>
      <Fact title="Latency">{formatMs(decision.latency_ms)}</Fact>
      <Fact title="Review queue">
        {decision.decision === 'REVIEW' || decision.shadow_routed ? 'copied to it' : 'no'}
      </Fact>
    </dl>
  );
}

function Fact({ title, children }: { readonly title: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}
