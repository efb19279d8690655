import type { JSX } from 'preact';
import type { ReadinessBody } from '../../../../contract/wire-types.ts';
import { Icon } from '../../components/icon.tsx';
import { Text } from '../../components/text.tsx';

type Feed = NonNullable<ReadinessBody['data']>[string];

/** What each feed is for: what decisions do not see when it is old, held back or absent. */
const RISKS: Readonly<Record<string, string>> = {
  tor: 'Payments and logins from newer exits of Tor are not seen',
  vpn: 'Newer networks of VPN services are not seen',
  clouds: 'Machines in newer networks of clouds look like people',
  crawlers: 'A crawler from a newer network looks forged',
  asn: 'Rules about the owner of a network see hosting companies only',
};

/** Feeds about networks as what they miss, because an old list is a risk and no state of the service. Null if nothing is missed. */
export function DataRisks({ data }: { readonly data: ReadinessBody['data'] }): JSX.Element | null {
  const risks = Object.entries(data ?? {}).filter(([, { state }]) => state !== 'ok');
  if (risks.length === 0) return null;
  return (
    <div class="stack">
      <h3>What is not seen</h3>
      <ul class="layers">
        {risks.map(([name, feed]) => (
          <li key={name} class="layer">
            <strong>
              <Icon name="warning" /> <Text value={name} charactersMax={40} />
            </strong>
            <span class="layer-text">
              <Text value={riskOf(name, feed)} charactersMax={240} />
            </span>
          </li>
        ))}
      </ul>
      <p class="muted small">
        <code>gatehouse data update</code> fetches newer lists; <code>GATEHOUSE_DATA_UPDATE_HOURS</code> does it by
        itself.
      </p>
    </div>
  );
}

function riskOf(name: string, { age_days: days, state, detail }: Feed): string {
  const risk = RISKS[name] ?? 'Newer entries of this list are not seen';
  const why =
    state === 'absent' ? 'no such list is here' : state === 'held' ? detail : `the list is ${days ?? 0} days old`;
  return `${risk}: ${why}.`;
}
