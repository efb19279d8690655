import type { JSX } from 'preact';
import type { LayerBody, MeBody, ReadinessBody } from '../../../contract/wire-types.ts';
import { API, v1 } from '../api.ts';
import { Copy } from '../components/copy.tsx';
import { FactList } from '../components/facts.tsx';
import { Section } from '../components/pane.tsx';
import { StateMark } from '../components/state-mark.tsx';
import { StateView } from '../components/state-view.tsx';
import { Text } from '../components/text.tsx';
import { Time } from '../components/time.tsx';
import { formatAgo, formatCount } from '../format.ts';
import { now } from '../now.ts';
import { type Live, useLive } from '../use-live.ts';
import { CollectorSnippet } from './keys/collector-snippet.tsx';
import { DataRisks } from './keys/data-risks.tsx';
import { KeyTable } from './keys/key-table.tsx';
import { layerState, statusWords } from './keys/layer-state.ts';
import { layerWords } from './keys/layer-words.ts';

/** API keys, health of the layers, versions, the collector's tag and licences. */
export default function KeysPage(): JSX.Element {
  const me = useLive<MeBody>(v1('/me'), { everyMs: 30_000 });
  const ready = useLive<ReadinessBody>(`${API}/readyz`, { everyMs: 5_000, accept: [503] });
  return (
    <div class="stack">
      <KeyTable me={me.data} />
      <Health ready={ready} />
      <Account me={me} ready={ready} />
      <CollectorSnippet />
      <Licences />
    </div>
  );
}

function Health({ ready }: { readonly ready: Live<ReadinessBody> }): JSX.Element {
  return (
    <Section title="Health">
      <StateView of={ready} skeleton="rows">
        {(data) => {
          const { tone, word, text } = statusWords(data.status);
          const layers = Object.entries(data.layers ?? {});
          return (
            <div class="stack">
              <p>
                <StateMark tone={tone} word={word} />. {text}
              </p>
              <ul class="layers">
                {layers.map(([id, layer]) => layer !== undefined && <LayerItem key={id} id={id} layer={layer} />)}
              </ul>
              <DataRisks data={data.data} />
              <p class="muted small">
                Memory, disk and queues are measured by <code>/metrics</code>, which only the operator reads.
              </p>
            </div>
          );
        }}
      </StateView>
    </Section>
  );
}

function LayerItem({ id, layer }: { readonly id: string; readonly layer: LayerBody }): JSX.Element {
  const { tone, word, meaning } = layerState(id, layer);
  return (
    <li class="layer">
      <strong>
        <Text value={layerWords(id).title} charactersMax={60} />
      </strong>
      <StateMark tone={tone} word={word} />
      <span class="layer-text">
        {meaning !== '' && <span>{meaning} </span>}
        {layer.detail !== '' && (
          <span class="muted">
            <Text value={layer.detail} charactersMax={500} />{' '}
          </span>
        )}
        {layer.version !== null && (
          <span class="muted">
            {id === 'backups' ? <BackupAge version={layer.version} /> : <Text value={layer.version} />}
          </span>
        )}
      </span>
    </li>
  );
}

/** The version of the backups is the time of the newest one. */
function BackupAge({ version }: { readonly version: string }): JSX.Element {
  const at = Date.parse(version) / 1_000;
  if (!Number.isFinite(at)) return <Text value={version} />;
  return (
    <>
      The newest backup was made <Time at={at} /> ({formatAgo(at, now.value)}).
    </>
  );
}

function Account({ me, ready }: { readonly me: Live<MeBody>; readonly ready: Live<ReadinessBody> }): JSX.Element {
  return (
    <Section title="Account and versions">
      <StateView of={me} skeleton="text">
        {(data) => {
          const { policy } = data;
          const skew = Math.round(data.server_time - (me.asOfMs ?? 0) / 1_000);
          return (
            <FactList
              label="Account and versions"
              facts={[
                { title: 'Customer', value: <Text value={data.name} /> },
                {
                  title: 'Id',
                  value: (
                    <span class="row">
                      <code>{data.customer_id}</code> <Copy text={data.customer_id} what="id" />
                    </span>
                  ),
                },
                { title: 'Since', value: <Time at={data.created_at} /> },
                {
                  title: 'Rate limit',
                  value: `${formatCount(data.rate_limit)} decide calls and ${formatCount(data.management_rate_limit)} other calls a minute for this key`,
                },
                {
                  title: 'Policy',
                  value: (
                    <>
                      <code>{policy.version}</code>,{' '}
                      {policy.mode === 'enforce' ? 'decisions apply' : 'observe mode: every decision is Allow'}
                      {policy.challenger !== null && (
                        <>
                          , challenger <code>{policy.challenger}</code>
                        </>
                      )}
                    </>
                  ),
                },
                { title: 'Gatehouse', value: data.service_version },
                ready.data === undefined ? null : { title: 'Node.js', value: <Text value={ready.data.node} /> },
                ready.data?.transport === undefined
                  ? null
                  : {
                      title: 'Transport',
                      value: (
                        <>
                          {ready.data.transport === 'uws'
                            ? 'uws, the native server'
                            : 'node:http, which handles about two thirds of the load'}
                          {ready.data.transport_detail !== undefined && (
                            <span class="muted">
                              {' '}
                              <Text value={ready.data.transport_detail} />
                            </span>
                          )}
                        </>
                      ),
                    },
                {
                  title: 'Clock',
                  value:
                    Math.abs(skew) <= 5
                      ? 'Yours and the server’s agree'
                      : `The server’s is ${Math.abs(skew)} s ${skew > 0 ? 'ahead of' : 'behind'} yours; signatures allow 300 s`,
                },
              ]}
            />
          );
        }}
      </StateView>
    </Section>
  );
}

/** Source: README, "Licences and data": CC BY 4.0 requires the link where locations are shown. */
function Licences(): JSX.Element {
  return (
    <Section title="Licences and data">
      <ul class="stack-small">
        <li>Gatehouse: Apache License 2.0.</li>
        <li>
          <p>
            <a href="https://db-ip.com" rel="noreferrer">
              IP Geolocation by DB-IP
            </a>
            , CC BY 4.0. Keep this link where you show locations.
          </p>
        </li>
        <li>Countries of addresses: geo-whois-asn-country, CC0. Disposable e-mail domains: CC0.</li>
        <li>Crawlers: crawler-user-agents (MIT), isbot (Unlicense). Maps: Natural Earth, public domain.</li>
      </ul>
    </Section>
  );
}
