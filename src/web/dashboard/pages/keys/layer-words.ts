import { asWords } from '../../format.ts';

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
  networks: { title: 'Data feeds', without: 'Tor, VPNs, clouds and crawlers are not recognised by their address.' },
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
  return LAYER_WORDS[id] ?? { title: asWords(id), without: '' };
}
