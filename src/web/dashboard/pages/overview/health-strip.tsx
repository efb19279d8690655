import type { JSX } from 'preact';
import type { ReadinessBody } from '../../../../contract/wire-types.ts';
import { API } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { Stale } from '../../components/state-view.tsx';
import { asWords } from '../../format.ts';
import { useLive } from '../../use-live.ts';
import { visibleText } from '../../visible-text.ts';

/** Effect of a broken layer on decisions. Source: docs/operating.md, "Health". */
const MEANINGS: Readonly<Record<string, string>> = {
  store: 'request ids, the decision log or lists do not work fully',
  geoip_city: 'rules about location and travel have less evidence',
  geoip_country: 'rules about country have less evidence',
  geoip_asn: 'rules about the network of an address have less evidence',
  anonymiser: 'VPNs and proxies are not recognised',
  networks: 'Tor, VPNs, clouds and crawlers are not recognised',
  hosting_networks: 'addresses of data centres are not recognised',
  model: 'the rules decide alone',
  webhooks: 'deliveries wait',
  extraction: 'extraction jobs wait',
  policy: 'the newest policy file was refused; the last valid one applies',
  backups: 'the last automatic backup failed',
};

/** Names of layers whose ids do not say what they are. */
const TITLES: Readonly<Record<string, string>> = {
  geoip_asn: 'owners of networks',
  anonymiser: 'VPN, proxy and Tor lists',
  networks: 'data feeds',
};

const STATUS_WORDS: Readonly<Record<ReadinessBody['status'], string>> = {
  ok: 'Everything works',
  degraded: 'Works, with less evidence',
  starting: 'Starting',
  unavailable: 'No decisions are made',
  stopping: 'Stopping',
};

const READY_MS = 5_000;

/** A model that works and has something to say is silenced by its circuit breaker. */
function isSilentModel(name: string, layer: { readonly state: string; readonly detail: string } | undefined): boolean {
  return name === 'model' && layer?.state === 'ok' && layer.detail !== '';
}

/** Health at a glance: the state, the broken layers, and what they mean for decisions. */
export function HealthStrip(): JSX.Element | null {
  const ready = useLive<ReadinessBody>(`${API}/readyz`, { everyMs: READY_MS, accept: [503] });
  const { data, fault } = ready;
  if (data === undefined) return fault === null ? <p class="health health-loading">&nbsp;</p> : <Stale of={ready} />;
  const broken = Object.entries(data.layers ?? {}).filter(
    ([name, layer]) => layer?.state === 'broken' || layer?.refused === true || isSilentModel(name, layer),
  );
  const absent = Object.entries(data.layers ?? {}).filter(([, layer]) => layer?.state === 'absent');
  const tone = data.status === 'ok' && broken.length === 0 ? 'good' : data.status === 'unavailable' ? 'bad' : 'warn';
  return (
    <div class={`health health-${tone}`}>
      <p class="health-status">
        <Icon name={tone === 'good' ? 'check' : tone === 'bad' ? 'error' : 'warning'} />
        <strong>
          {absent.length > 0 && data.status === 'ok' ? 'Everything that is set up works' : STATUS_WORDS[data.status]}
        </strong>
        <span class="muted">
          version {visibleText(data.version)} · Node.js {visibleText(data.node)}
        </span>
        <a href="/dashboard/keys">Health of each part</a>
      </p>
      {fault !== null && <Stale of={ready} />}
      {absent.length > 0 && (
        <p class="health-absent muted">
          Not set up: {absent.map(([name]) => visibleText(TITLES[name] ?? asWords(name))).join(', ')}
        </p>
      )}
      {broken.length > 0 && (
        <ul class="health-list">
          {broken.map(([name, layer]) => (
            <li key={name}>
              <strong>{visibleText(asWords(name))}</strong>: {MEANINGS[name] ?? 'not working'}
              {layer !== undefined && layer.detail !== '' && <span class="muted"> ({visibleText(layer.detail)})</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
