import type { LayerBody, ReadinessBody } from '../../../../contract/wire-types.ts';
import { words } from '../../format.ts';
import type { Tone } from '../../components/state-mark.tsx';

/** Layers of `/readyz` in words: what each is for, and what decisions lack without it. */

interface LayerWords {
  readonly title: string;
  readonly without: string;
}

const LAYER_WORDS: Readonly<Record<string, LayerWords>> = {
  store: { title: 'Data', without: 'Decide requests are refused, because no decision can be stored.' },
  geoip_city: {
    title: 'Locations',
    without: 'Rules do not know where an address is: rules about travel and country do not fire.',
  },
  geoip_country: { title: 'Countries', without: 'Countries come from the location database only.' },
  geoip_asn: { title: 'Networks by owner', without: 'Hosting networks are recognised by the built-in table only.' },
  anonymiser: { title: 'Anonymisers', without: 'Tor, VPNs and known proxies are not recognised by their address.' },
  hosting_networks: { title: 'Hosting networks', without: 'Addresses of data centres are not recognised.' },
  model: { title: 'Model', without: 'Rules decide alone.' },
  webhooks: { title: 'Webhooks', without: 'Deliveries wait until it works again.' },
  extraction: { title: 'Extractions', without: 'Jobs wait until it works again.' },
  policy: { title: 'Policy', without: 'The defaults apply.' },
  addresses: { title: 'Addresses of visitors', without: '' },
  backups: { title: 'Backups', without: 'If the disk is lost, keys, lists, labels and webhooks are lost.' },
};

/** A layer of a newer service has its id as its title. */
export function layerWords(id: string): LayerWords {
  return LAYER_WORDS[id] ?? { title: words(id), without: '' };
}

export interface LayerState {
  readonly tone: Tone;
  readonly word: string;
  /** What it means; '' if all is well. */
  readonly meaning: string;
}

export function layerState(id: string, layer: LayerBody): LayerState {
  const { without } = layerWords(id);
  if (layer.state === 'broken') return { tone: 'bad', word: 'Broken', meaning: without };
  if (layer.refused === true)
    return { tone: 'warn', word: 'New file refused', meaning: 'The previous file stays in use, if there is one.' };
  // The detail of an absent layer says the same.
  if (layer.state === 'absent')
    return { tone: 'idle', word: 'Not set up', meaning: layer.detail === '' ? without : '' };
  // The version is the time of the newest backup: nothing has shown yet that backups work.
  if (id === 'backups' && layer.version === null) return { tone: 'idle', word: 'Waiting', meaning: '' };
  return { tone: 'good', word: 'Works', meaning: '' };
}

const STATUS: Readonly<
  Record<ReadinessBody['status'], { readonly tone: Tone; readonly word: string; readonly text: string }>
> = {
  ok: { tone: 'good', word: 'Works', text: 'Everything that is set up works.' },
  degraded: {
    tone: 'warn',
    word: 'Degraded',
    text: 'Decisions are made with less evidence. The broken parts are below.',
  },
  starting: { tone: 'idle', word: 'Starting', text: 'No decisions are made yet.' },
  stopping: { tone: 'warn', word: 'Stopping', text: 'Accepted requests are completed, new ones are refused.' },
  unavailable: {
    tone: 'bad',
    word: 'Unavailable',
    text: 'Decide requests are refused, because the journal cannot be written.',
  },
};

export function statusWords(status: ReadinessBody['status']): {
  readonly tone: Tone;
  readonly word: string;
  readonly text: string;
} {
  return STATUS[status];
}
