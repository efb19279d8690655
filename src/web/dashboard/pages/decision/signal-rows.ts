import type { ExplainedDecisionBody } from '../../../../contract/wire-types.ts';
import { countOf } from '../../format.ts';

/** Signals of a decision's token beside the server's own view of the request, from the signals that were kept. */

export interface SignalRow {
  readonly about: string;
  /** Value in the collector's token; null without a readable token. */
  readonly token: string | null;
  readonly server: string;
}

type Signals = NonNullable<ExplainedDecisionBody['signals']>;

/** Families whose rules compare the token and the client with each other. */
const COMPARED = new Set(['client', 'token', 'session']);

export function signalRows(signals: Signals): readonly SignalRow[] {
  const is = (name: string): boolean => (signals[name] ?? 0) !== 0;
  const number = (name: string): number => signals[name] ?? 0;
  const isRead = is('token:collector');
  const said = (name: string, yes: string, no: string): string | null => (!isRead ? null : is(name) ? yes : no);
  return [
    {
      about: 'Token',
      token: isRead ? ageOf(number('token:age_hours')) : null,
      server: is('token:opaque') ? 'a text that is not the collector’s' : isRead ? 'read and checked' : 'none was sent',
    },
    {
      about: 'Automation',
      token: said('token:webdriver', 'the browser says that a program drives it', 'not reported'),
      server: listed(
        [
          is('agent:headless') && 'a headless browser',
          is('agent:http_library') && 'an HTTP library',
          is('agent:bot') && 'a bot',
          is('agent:ai') && 'an AI agent',
        ],
        'nothing in the user agent',
      ),
    },
    {
      about: 'Plugins',
      token: said('token:no_plugins', 'the browser has none', 'some, or not reported'),
      server: 'not visible to a server',
    },
    {
      about: 'Languages',
      token: said('token:no_languages', 'the browser has none', 'some, or not reported'),
      server: is('headers:accept_language') ? 'Accept-Language was passed on' : 'no Accept-Language',
    },
    {
      about: 'Touch and form',
      token: said('token:touch', 'a touch screen', 'none, or not reported'),
      server: !is('agent:given')
        ? 'no user agent'
        : is('agent:mobile')
          ? 'a phone or tablet'
          : 'no phone and no tablet',
    },
    { about: 'Browser', token: null, server: browserOf(is, number) },
    {
      about: 'Headers',
      token: null,
      server: `${number('headers:count')} passed on${is('headers:client_hints') ? ', with client hints' : ''}${is('headers:tls') ? ', with a TLS fingerprint' : ''}`,
    },
    {
      about: 'Address',
      token: null,
      server: listed(
        [
          !is('ip:given') && 'none',
          is('ip:given') && !is('ip:valid') && 'not valid',
          is('ip:valid') && !is('ip:public') && 'not public',
          is('geo:tor') && 'Tor',
          is('geo:residential_proxy') && 'a residential proxy',
          is('geo:proxy') && 'a proxy',
          is('geo:vpn') && 'a VPN',
          is('geo:relay') && 'a relay',
          is('geo:hosting') && 'a data centre',
        ],
        'nothing special',
      ),
    },
    { about: 'History', token: null, server: historyOf(is, number) },
  ];
}

/** Reasons that read the token or the client, with what they found: the token's values that were kept. */
export function tokenEvidence(decision: ExplainedDecisionBody): ExplainedDecisionBody['contributions'] {
  return decision.contributions.filter(({ family }) => COMPARED.has(family));
}

type Is = (name: string) => boolean;
type Value = (name: string) => number;

function browserOf(is: Is, number: Value): string {
  if (!is('agent:given')) return 'no user agent';
  const days = number('agent:browser_age_days');
  if (days > 0) return `known, released ${Math.round(days)} days before`;
  return is('agent:browser_known') ? 'known' : 'not a known browser';
}

function historyOf(is: Is, number: Value): string {
  if (!is('history:known')) return 'not looked up';
  const known = number('history:entity_known_hours');
  return [
    `${countOf(number('history:session_decisions_1m'), 'decision')} of the session in a minute`,
    ...(is('entities:count')
      ? [
          `identity known for ${hours(known)}`,
          `${countOf(number('history:entity_devices_24h'), 'device')} of it in a day`,
          `${countOf(number('history:entity_networks_1h'), 'network')} of it in an hour`,
        ]
      : ['no identity']),
    `${countOf(number('history:device_entities_24h'), 'identity', 'identities')} of the device in a day`,
  ].join(', ');
}

function ageOf(ageHours: number): string {
  return ageHours < 0 ? 'of the collector, issued in the future' : `of the collector, ${hours(ageHours)} old`;
}

function hours(value: number): string {
  if (value < 1) return `${Math.round(value * 60)} min`;
  return value < 48 ? `${Math.round(value)} h` : `${Math.round(value / 24)} days`;
}

function listed(parts: readonly (string | false)[], none: string): string {
  const found = parts.filter((part) => part !== false);
  return found.length === 0 ? none : found.join(', ');
}
