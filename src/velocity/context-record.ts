import type { ContextHistory, EntityHistory, Familiarity, HistoryEvent } from '../risk/history.ts';
import { TEACHES_AT_ONCE, TEACHES_NOTHING, type Teaching } from '../risk/event-outcome.ts';
import { placeValue } from './context-place.ts';
import { addCountry, countryFamiliarity, removeCountry } from './context-countries.ts';
import { ContextPopulation, type PopulationKey } from './context-population.ts';
import { COUNT_MAX, CountedSet } from './counted-set.ts';
import { codeOfCountry } from './country.ts';
import type { EventKeys } from './event-keys.ts';
import { FamiliarSet } from './familiar-set.ts';
import { KIND_ENTITY_OUTCOMES as KIND_CONTEXT } from './layout.ts';
import type { Table } from './table.ts';
import { setMemberOf } from './timed-set.ts';
import {
  ABSENT,
  type ContextBefore,
  DOUBTFUL,
  FAMILIAR,
  TAUGHT_CONTEXT,
  TAUGHT_FIRST_CONTEXT,
  type TracedEntity,
  type TracedEvent,
} from './trace.ts';

/**
 * The contexts in which an account is used. One record for each account that logs in, signs up, checks out or pays.
 *
 *   0 hash   1 first session, Unix seconds   2 sessions   3-6 agents, 7-10 locations (`counted-set.ts`)
 *   11-14 exact agents, 15-18 devices, 19-26 networks (`familiar-set.ts`)
 *   27-30 sessions that were counted: 28 bits of the session | day 4 bits   31 two countries, 16 bits each (`context-countries.ts`)
 *
 * The first session makes its context familiar. A later session is doubtful when two of device, network and location are new and the
 * context does not resemble the account: it adds no agent and no location. Its device, exact agent and network become familiar when they
 * are seen again after a day, or at once when a challenge was passed. Using a stolen password twice must not make the thief familiar.
 */
const AT_FIRST = 1;
const AT_SESSIONS = 2;
const AT_COUNTED = 27;
const COUNTED = 4;
const AT_COUNTRIES = 31;
const DAY_BITS = 0xf;
/** Every event that may teach has one of them for its account. */
const TAUGHT_ACCOUNT = TAUGHT_CONTEXT | TAUGHT_FIRST_CONTEXT;
/** Attributes that were absent, as bits. */
const NO_DEVICE = 1;
const NO_EXACT_AGENT = 2;
const NO_NETWORK = 4;

/** Source: the default rules, which compare no context of a younger account. */
const SETTLED_SECONDS = 30 * 60;
const DAY_SECONDS = 86_400;
const HOUR_SECONDS = 3_600;
/** Source: the default rules and their formula: how much each familiar attribute lowers the ratio. */
const KNOWN_NETWORK = 1;
const KNOWN_DEVICE = 2;
const KNOWN_EXACT_AGENT = 1;
const RATIO_MAX_ON_KNOWN_DEVICE = 0.5;

const TEACHING: ReadonlySet<string> = new Set(['login', 'signup', 'checkout', 'payment']);

/** The attributes of an event that are compared; 0 if the event does not have it. */
interface Context {
  readonly agent: number;
  readonly exactAgent: number;
  readonly device: number;
  readonly site: number;
  readonly place: number;
  readonly country: number;
}

/** What the account learns from an event by its previous outcome, and by the new one. */
export interface TeachingChange {
  readonly was: Teaching;
  readonly now: Teaching;
}

export class ContextRecords implements ContextBefore {
  /** Set by the last `observe`: bits of a trace. */
  taught = 0;
  attributes = 0;
  isAlike = true;
  readonly #table: Table;
  readonly #population: ContextPopulation;
  readonly #agents: CountedSet;
  readonly #places: CountedSet;
  readonly #exactAgents: FamiliarSet;
  readonly #devices: FamiliarSet;
  readonly #networks: FamiliarSet;

  constructor(table: Table) {
    this.#table = table;
    this.#population = new ContextPopulation(table);
    this.#agents = new CountedSet(table, { at: 3, words: 4 });
    this.#places = new CountedSet(table, { at: 7, words: 4 });
    this.#exactAgents = new FamiliarSet(table, { at: 11, words: 4 });
    this.#devices = new FamiliarSet(table, { at: 15, words: 4 });
    this.#networks = new FamiliarSet(table, { at: 19, words: 8 });
  }

  /**
   * Compares the context of the event's entity at index `n`; `entity` is that entity's history. Returns null while no context of it is
   * known. `teaching` is what the event's own outcome lets the account learn.
   */
  observe(
    event: HistoryEvent,
    keys: EventKeys,
    n: number,
    entity: EntityHistory,
    teaching: Teaching,
    nowSeconds: number,
  ): ContextHistory | null {
    this.taught = 0;
    this.attributes = 0;
    this.isAlike = true;
    const table = this.#table;
    const low = keys.entityLow[n] ?? 0;
    const high = keys.entityHigh[n] ?? 0;
    const isTeaching = TEACHING.has(event.eventType);
    const record =
      isTeaching && teaching !== TEACHES_NOTHING
        ? table.take(low, high, KIND_CONTEXT, nowSeconds)
        : table.find(low, high, KIND_CONTEXT, nowSeconds);
    const context: Context = {
      agent: event.agentHash,
      exactAgent: event.exactAgentHash,
      device: keys.device,
      site: keys.site === 0 ? 0 : setMemberOf(keys.site),
      place: placeValue(event, keys),
      country: codeOfCountry(event.country),
    };
    const sessions = record === 0 ? 0 : (table.words[record + AT_SESSIONS] ?? 0);
    if (sessions === 0) {
      if (isTeaching) this.taught = TAUGHT_CONTEXT | TAUGHT_FIRST_CONTEXT;
      if (record !== 0 && isTeaching && teaching !== TEACHES_NOTHING)
        this.#learn(record, context, keys, true, nowSeconds);
      return null;
    }
    let found = this.#compare(record, context, entity, keys, sessions, nowSeconds);
    if (isTeaching) {
      this.isAlike = found.ratio === 0;
      const isCounted = this.#isCounted(record, keys.sessionLow, nowSeconds);
      this.taught = isCounted ? TAUGHT_FIRST_CONTEXT : TAUGHT_CONTEXT;
      const absent = this.#teach(record, context, keys, isCounted, teaching, nowSeconds);
      this.attributes = attributesOf(found, absent);
      if (teaching === TEACHES_AT_ONCE) found = this.#compare(record, context, entity, keys, sessions, nowSeconds);
    }
    const first = table.words[record + AT_FIRST] ?? 0;
    return found.ratio === 0 || nowSeconds - first >= SETTLED_SECONDS ? found : { ...found, ratio: 0 };
  }

  /** Replaces what the account learned from one of its earlier events, after another outcome of it was reported. */
  settle(account: TracedEntity, event: TracedEvent, change: TeachingChange, keys: PopulationKey, nowMs: number): void {
    const { low, high, taught } = account;
    const { was, now } = change;
    if ((taught & TAUGHT_ACCOUNT) === 0 || (was === TEACHES_NOTHING && now === TEACHES_NOTHING)) return;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record =
      was === TEACHES_NOTHING
        ? this.#table.take(low, high, KIND_CONTEXT, nowSeconds)
        : this.#table.find(low, high, KIND_CONTEXT, nowSeconds);
    if (record === 0) return;
    if (now < was) this.#revert(record, taught, event, change, keys, nowSeconds);
    else this.#relearn(record, event, change, keys);
  }

  #revert(
    record: number,
    taught: number,
    event: TracedEvent,
    { was, now }: TeachingChange,
    keys: PopulationKey,
    nowSeconds: number,
  ): void {
    const context = contextOf(event);
    const { attributes } = event.context;
    const isFirst = taught === (taught | TAUGHT_CONTEXT | TAUGHT_FIRST_CONTEXT);
    const revert = (set: FamiliarSet, member: number, before: number): void => {
      if (member === 0 || before === FAMILIAR) return;
      if (was === TEACHES_AT_ONCE && !isFirst) set.doubt(record, member, hourOf(event.atSeconds));
      if (now === TEACHES_NOTHING && before === ABSENT) set.forget(record, member, hourOf(nowSeconds), isFirst);
    };
    revert(this.#devices, context.device, attributes & 3);
    revert(this.#exactAgents, context.exactAgent, (attributes >> 2) & 3);
    revert(this.#networks, context.site, attributes >> 4);
    if ((taught & TAUGHT_CONTEXT) !== 0 && counts(was, event) && !counts(now, event))
      this.#uncount(record, event, context, keys);
  }

  #uncount(record: number, event: TracedEvent, { agent, place, country }: Context, keys: PopulationKey): void {
    const counted = this.#countedAt(record, event.sessionLow, event.atSeconds);
    if (counted < 0) return;
    const { words } = this.#table;
    Atomics.store(words, counted, 0);
    if (agent !== 0) this.#agents.remove(record, agent);
    if (place !== 0) this.#places.remove(record, place);
    if (country !== 0) removeCountry(words, record + AT_COUNTRIES, country);
    this.#population.change(keys, agent, place, -1, event.atSeconds);
    const sessions = words[record + AT_SESSIONS] ?? 0;
    if (sessions > 0) Atomics.compareExchange(words, record + AT_SESSIONS, sessions, sessions - 1);
    if (sessions <= 1) Atomics.store(words, record + AT_FIRST, 0);
  }

  /** Learns the event again, at its own time: a failed login may have removed meanwhile what it added. */
  #relearn(record: number, event: TracedEvent, { was, now }: TeachingChange, keys: PopulationKey): void {
    const { atSeconds, sessionLow } = event;
    const context = contextOf(event);
    const isFirst = (this.#table.words[record + AT_SESSIONS] ?? 0) === 0;
    this.#table.keep(record);
    const isMissing = counts(now, event) && !counts(was, event) && !this.#isCounted(record, sessionLow, atSeconds);
    const atOnce = isFirst || now === TEACHES_AT_ONCE;
    if (isFirst || isMissing) this.#learn(record, context, { ...keys, sessionLow }, atOnce, atSeconds);
    else this.#see(record, context, hourOf(atSeconds), atOnce);
  }

  #compare(
    record: number,
    context: Context,
    entity: EntityHistory,
    keys: EventKeys,
    sessions: number,
    nowSeconds: number,
  ): ContextHistory {
    const hour = hourOf(nowSeconds);
    const device = familiarity(this.#devices, record, context.device, hour);
    const exactAgent = familiarity(this.#exactAgents, record, context.exactAgent, hour);
    const network = familiarity(this.#networks, record, context.site, hour);
    const agentCount = context.agent === 0 ? 0 : this.#agents.count(record, context.agent);
    const placeCount = context.place === 0 ? 0 : this.#places.count(record, context.place);
    const isFamiliarPlace = placeCount > 0 || entity.placeIsFamiliar;
    const place: Familiarity = context.place === 0 ? 'unknown' : isFamiliarPlace ? 'known' : 'new';
    const agent: Familiarity = context.agent === 0 ? 'unknown' : agentCount > 0 ? 'known' : 'new';
    const deviceOrAgent = device === 'unknown' ? exactAgent : device;
    const news = Number(deviceOrAgent === 'new') + Number(network === 'new') + Number(place === 'new');
    let ratio = 0;
    // Rarely true, so the population is seldom read.
    if (news >= 2) {
      if (context.agent !== 0) {
        ratio += ratioOf(agentCount, sessions, () => this.#population.agentShare(keys, context.agent, nowSeconds));
      }
      if (context.place !== 0 && (placeCount > 0 || !isFamiliarPlace)) {
        ratio += ratioOf(placeCount, sessions, () => this.#population.placeShare(keys, context.place, nowSeconds));
      }
      if (network === 'known') ratio -= KNOWN_NETWORK;
      if (device === 'known') ratio -= KNOWN_DEVICE;
      if (exactAgent === 'known') ratio -= KNOWN_EXACT_AGENT;
      if (device === 'known') ratio = Math.min(ratio, RATIO_MAX_ON_KNOWN_DEVICE);
    }
    const country = countryFamiliarity(this.#table.words[record + AT_COUNTRIES] ?? 0, context.country);
    return { name: entity.name, sessions, ratio, device, exactAgent, agent, network, place, country };
  }

  /** Learns the event as its own outcome allows. Returns which attributes were absent before. */
  #teach(
    record: number,
    context: Context,
    keys: EventKeys,
    isCounted: boolean,
    teaching: Teaching,
    nowSeconds: number,
  ): number {
    if (teaching === TEACHES_NOTHING) return this.#absentOf(record, context);
    const atOnce = teaching === TEACHES_AT_ONCE;
    return !isCounted && (atOnce || this.isAlike)
      ? this.#learn(record, context, keys, atOnce, nowSeconds)
      : this.#see(record, context, hourOf(nowSeconds), atOnce);
  }

  /** Counts a session and learns its context. Returns which attributes were absent. */
  #learn(
    record: number,
    context: Context,
    keys: PopulationKey & { readonly sessionLow: number },
    asFamiliar: boolean,
    nowSeconds: number,
  ): number {
    const { words } = this.#table;
    Atomics.compareExchange(words, record + AT_FIRST, 0, nowSeconds);
    const sessions = Atomics.add(words, record + AT_SESSIONS, 1);
    const slot = record + AT_COUNTED + (sessions % COUNTED);
    Atomics.store(words, slot, countedWord(keys.sessionLow, nowSeconds));
    const { agent, place, country } = context;
    if (country !== 0) addCountry(words, record + AT_COUNTRIES, country);
    const day = Math.floor(nowSeconds / DAY_SECONDS);
    const most = Math.max(
      agent === 0 ? 0 : this.#agents.add(record, agent, day),
      place === 0 ? 0 : this.#places.add(record, place, day),
    );
    const absent = this.#see(record, context, hourOf(nowSeconds), asFamiliar);
    this.#population.change(keys, agent, place, 1, nowSeconds);
    if (most < COUNT_MAX) return absent;
    this.#agents.halve(record);
    this.#places.halve(record);
    Atomics.compareExchange(words, record + AT_SESSIONS, sessions + 1, (sessions + 1) >> 1);
    return absent;
  }

  /** Returns which attributes were absent. */
  #see(record: number, { device, exactAgent, site }: Context, hour: number, asFamiliar: boolean): number {
    let absent = 0;
    if (device !== 0 && this.#devices.see(record, device, hour, asFamiliar)) absent |= NO_DEVICE;
    if (exactAgent !== 0 && this.#exactAgents.see(record, exactAgent, hour, asFamiliar)) absent |= NO_EXACT_AGENT;
    if (site !== 0 && this.#networks.see(record, site, hour, asFamiliar)) absent |= NO_NETWORK;
    return absent;
  }

  #absentOf(record: number, { device, exactAgent, site }: Context): number {
    return (
      (this.#devices.has(record, device) ? 0 : NO_DEVICE) |
      (this.#exactAgents.has(record, exactAgent) ? 0 : NO_EXACT_AGENT) |
      (this.#networks.has(record, site) ? 0 : NO_NETWORK)
    );
  }

  #isCounted(record: number, sessionLow: number, nowSeconds: number): boolean {
    return this.#countedAt(record, sessionLow, nowSeconds) >= 0;
  }

  /**
   * Returns the slot in which the session was counted today or yesterday (a session that lasts for weeks counts every other day); -1 if it
   * was not.
   */
  #countedAt(record: number, sessionLow: number, nowSeconds: number): number {
    const { words } = this.#table;
    const today = countedWord(sessionLow, nowSeconds);
    const yesterday = countedWord(sessionLow, nowSeconds - DAY_SECONDS);
    for (let i = record + AT_COUNTED; i < record + AT_COUNTED + COUNTED; i++) {
      if (words[i] === today || words[i] === yesterday) return i;
    }
    return -1;
  }
}

function hourOf(seconds: number): number {
  return Math.floor(seconds / HOUR_SECONDS);
}

/** Returns whether the event's session counts: one that is unlike the account counts only if it teaches at once. */
function counts(teaching: Teaching, { context }: TracedEvent): boolean {
  return teaching === TEACHES_AT_ONCE || (teaching !== TEACHES_NOTHING && context.isAlike);
}

function attributesOf({ device, exactAgent, network }: ContextHistory, absent: number): number {
  return (
    attributeOf(device, absent & NO_DEVICE) |
    (attributeOf(exactAgent, absent & NO_EXACT_AGENT) << 2) |
    (attributeOf(network, absent & NO_NETWORK) << 4)
  );
}

function attributeOf(found: Familiarity, absent: number): number {
  return found === 'known' ? FAMILIAR : absent === 0 ? DOUBTFUL : ABSENT;
}

function familiarity(set: FamiliarSet, record: number, member: number, hour: number): Familiarity {
  return member === 0 ? 'unknown' : set.isFamiliar(record, member, hour) ? 'known' : 'new';
}

/**
 * Returns log10 of p / p(x | account), where p(x | account) = (count + p/2) / (sessions + 1/2). For a value that the account never had, p
 * cancels out and is not looked up.
 */
function ratioOf(count: number, sessions: number, share: () => number): number {
  if (count === 0) return Math.log10(2 * sessions + 1);
  const p = share();
  return Math.log10((p * (sessions + 0.5)) / (Math.min(count, sessions) + p / 2));
}

function contextOf({ agentHash, exactAgentHash, device, site, contextPlace, country }: TracedEvent): Context {
  return {
    agent: agentHash,
    exactAgent: exactAgentHash,
    device,
    site: site === 0 ? 0 : setMemberOf(site),
    place: contextPlace,
    country,
  };
}

function countedWord(sessionLow: number, nowSeconds: number): number {
  return ((sessionLow & ~DAY_BITS) | (Math.floor(nowSeconds / DAY_SECONDS) & DAY_BITS)) >>> 0;
}
