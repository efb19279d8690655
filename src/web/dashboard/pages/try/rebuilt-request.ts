import type { ExplainedDecisionBody } from '../../../../contract/wire-types.ts';
import { isIdentity, kindWords } from '../../link-path.ts';
import type { DecideBody } from './presets.ts';

/** A decide body made from what is stored of a decision: bodies themselves are not kept. */

export interface RebuiltField {
  readonly name: string;
  /** `stored` as it was sent; `part` of it; `stand-in` for what is not kept; `unknown` and left out. */
  readonly state: 'stored' | 'part' | 'stand-in' | 'unknown';
  readonly about: string;
}

export interface Rebuilt {
  readonly body: DecideBody;
  readonly fields: readonly RebuiltField[];
}

interface Given extends RebuiltField {
  /** Undefined: the field is left out. */
  readonly value?: unknown;
}

type Agent = ExplainedDecisionBody['agent'];

export function rebuildRequest(decision: ExplainedDecisionBody): Rebuilt {
  const given = [
    eventOf(decision),
    sessionOf(decision),
    addressOf(decision),
    agentOf(decision.agent),
    urlOf(decision),
    ...identitiesOf(decision),
    outcomeOf(decision),
    ...NEVER_KEPT,
  ];
  const plain = given.filter(({ name, value }) => value !== undefined && !name.startsWith(ENTITY));
  const entities = given.filter(({ name, value }) => value !== undefined && name.startsWith(ENTITY));
  return {
    body: {
      ...Object.fromEntries(plain.map(({ name, value }) => [name, value])),
      ...(entities.length === 0
        ? {}
        : { entity_keys: Object.fromEntries(entities.map(({ name, value }) => [name.slice(ENTITY.length), value])) }),
    },
    fields: given.map(({ name, state, about }) => ({ name, state, about })),
  };
}

const ENTITY = 'entity_keys.';
const HASHED = 'hash:';

const NEVER_KEPT: readonly Given[] = [
  { name: 'referrer', state: 'unknown', about: 'Not kept.' },
  { name: 'headers', state: 'unknown', about: 'Not kept: rules about headers and TLS see none.' },
];

function eventOf({ event_type: type }: ExplainedDecisionBody): Given {
  const name = 'event_type';
  if (type === '') return { name, state: 'stored', about: 'None was given.' };
  return { name, state: 'stored', about: 'In lower case, up to 64 characters.', value: type };
}

function sessionOf({ request_id: id, session_mode: mode }: ExplainedDecisionBody): Given {
  const name = 'session_token';
  if (mode === 'no_session') return { name, state: 'stored', about: 'None was given.' };
  const about =
    'Tokens are never kept. A new one stands in for it, so the session and the fingerprint are new: their history, ' +
    'list entries and the collector’s signals do not count.';
  return { name, state: 'stand-in', about, value: `rebuilt-${id}` };
}

function addressOf({ ip }: ExplainedDecisionBody): Given {
  if (ip === null) return { name: 'ip', state: 'unknown', about: 'None was given, or one that was not valid.' };
  return { name: 'ip', state: 'stored', about: 'In canonical form.', value: ip };
}

function urlOf({ path }: ExplainedDecisionBody): Given {
  if (path === null) return { name: 'url', state: 'unknown', about: 'None was given, or it was not kept.' };
  return {
    name: 'url',
    state: 'part',
    about: 'Its path, up to 100 characters, without origin and query.',
    value: path,
  };
}

function agentOf(agent: Agent): Given {
  const name = 'user_agent';
  if (agent === null) return { name, state: 'unknown', about: 'None was given, or its class was not kept.' };
  const text = agentText(agent);
  const kept = `Only its class is kept: ${agent.browser} on ${agent.system}, ${agent.form}, automation ${agent.automation}.`;
  if (text === null) return { name, state: 'unknown', about: kept };
  return { name, state: 'stand-in', about: `${kept} A usual text of that class stands in for it.`, value: text };
}

function identitiesOf({ links }: ExplainedDecisionBody): readonly Given[] {
  return links
    .filter(({ kind }) => isIdentity(kind))
    .map(({ kind, id }): Given => {
      const name = `${ENTITY}${kindWords(kind)}`;
      if (id.startsWith(HASHED))
        return { name, state: 'unknown', about: 'Only a hash is kept. Type the value to count its history.' };
      return { name, state: 'stored', about: 'The policy keeps identities.', value: id };
    });
}

function outcomeOf({ outcome }: ExplainedDecisionBody): Given {
  if (outcome === null) return { name: 'outcome', state: 'stored', about: 'None was given in the request.' };
  return { name: 'outcome', state: 'stored', about: 'As given in the request.', value: outcome };
}

const SYSTEMS: Readonly<Record<string, string>> = {
  windows: 'Windows NT 10.0; Win64; x64',
  macos: 'Macintosh; Intel Mac OS X 10_15_7',
  linux: 'X11; Linux x86_64',
  android: 'Linux; Android 10; K',
  ios: 'iPhone; CPU iPhone OS 18_7 like Mac OS X',
  chromeos: 'X11; CrOS x86_64 14541.0.0',
};

/** Returns a usual user agent of a class; null if the class says too little. */
function agentText({ browser, system, form, automation }: NonNullable<Agent>): string | null {
  if (automation === 'http_library') return 'curl/8.14.1';
  if (automation === 'bot') return 'ExampleBot/1.0';
  const platform = SYSTEMS[system];
  if (automation === 'ai' || platform === undefined) return null;
  const mobile = form === 'mobile' ? ' Mobile' : '';
  if (automation === 'headless' || browser === 'chromium') {
    const name = automation === 'headless' ? 'HeadlessChrome' : 'Chrome';
    return `Mozilla/5.0 (${platform}) AppleWebKit/537.36 (KHTML, like Gecko) ${name}/149.0.0.0${mobile} Safari/537.36`;
  }
  if (browser === 'firefox') return `Mozilla/5.0 (${platform}; rv:150.0) Gecko/20100101 Firefox/150.0`;
  if (browser === 'safari')
    return `Mozilla/5.0 (${platform}) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1${mobile === '' ? '' : ' Mobile/15E148'} Safari/605.1.15`;
  return null;
}
