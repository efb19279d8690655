import type { LayerBody, ReadinessBody } from '../../../../contract/wire-types.ts';
import { words } from '../../format.ts';
import type { Tone } from '../../components/state-mark.tsx';

/** Layers of `/readyz` in words: what each is for, and what decisions lack without it. */

interface LayerWords {
  readonly title: string;
  readonly without: string;
}

const LAYER_WORDS: Readonly<Record<string, LayerWords>> = {
  store: { title: 'Data', without: 'Nothing is decided: a decision that cannot be stored is refused.' },
  geoip_city: { title: 'Locations', without: 'No rule sees where an address is: no travel, no country.' },
  geoip_country: { title: 'Countries', without: 'Only addresses that the other database has get a country.' },
  geoip_asn: { title: 'Networks by owner', without: 'Hosting is known only from the built-in table.' },
  anonymiser: { title: 'Anonymisers', without: 'Tor and known proxies are recognised only by other signs.' },
  hosting_networks: { title: 'Hosting networks', without: 'Data centres look like homes.' },
  model: { title: 'Model', without: 'Rules decide alone.' },
  webhooks: { title: 'Webhooks', without: 'Deliveries wait until it works again.' },
  extraction: { title: 'Extractions', without: 'Jobs wait until it works again.' },
  policy: { title: 'Policy', without: 'The defaults apply.' },
  backups: { title: 'Backups', without: 'A lost disk loses keys, lists, labels and webhooks.' },
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
    return { tone: 'warn', word: 'New file refused', meaning: 'The one before it serves on, if there was one.' };
  // The detail of an absent layer says the same.
  if (layer.state === 'absent')
    return { tone: 'idle', word: 'Not set up', meaning: layer.detail === '' ? without : '' };
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
  starting: { tone: 'idle', word: 'Starting', text: 'No decision is made yet.' },
  stopping: { tone: 'warn', word: 'Stopping', text: 'Accepted requests are answered, new ones are refused.' },
  unavailable: { tone: 'bad', word: 'Unavailable', text: 'No decision is accepted: the journal cannot be written.' },
};

export function statusWords(status: ReadinessBody['status']): {
  readonly tone: Tone;
  readonly word: string;
  readonly text: string;
} {
  return STATUS[status];
}
