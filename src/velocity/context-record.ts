import type { ContextHistory, EntityHistory, Familiarity, HistoryEvent } from '../risk/history.ts';
import { placeValue } from './context-place.ts';
import { addCountry, countryFamiliarity, removeCountry } from './context-countries.ts';
import { ContextPopulation, type PopulationKey } from './context-population.ts';
import { COUNT_MAX, CountedSet } from './counted-set.ts';
import { codeOfCountry } from './country.ts';
import type { EventKeys } from './event-keys.ts';
import { FamiliarSet } from './familiar-set.ts';
import { KIND_ENTITY_OUTCOMES as KIND_CONTEXT } from './layout.ts';
import type { Table } from './table.ts';
import { memberOf } from './timed-set.ts';
import { TAUGHT_CONTEXT, TAUGHT_FIRST_CONTEXT, type TracedEvent } from './trace.ts';

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

export class ContextRecords {
  /** Set by the last `observe`: bits of a trace. */
  taught = 0;
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
   * known. `isBad`: the login failed.
   */
  observe(
    event: HistoryEvent,
    keys: EventKeys,
    n: number,
    entity: EntityHistory,
    isBad: boolean,
    nowSeconds: number,
  ): ContextHistory | null {
    this.taught = 0;
    const table = this.#table;
    const low = keys.entityLow[n] ?? 0;
    const high = keys.entityHigh[n] ?? 0;
    const teaches = !isBad && TEACHING.has(event.eventType);
    const record = teaches
      ? table.take(low, high, KIND_CONTEXT, nowSeconds)
      : table.find(low, high, KIND_CONTEXT, nowSeconds);
    if (record === 0) return null;
    const context: Context = {
      agent: event.agentHash,
      exactAgent: event.exactAgentHash,
      device: keys.device,
      site: keys.site === 0 ? 0 : memberOf(keys.site),
      place: placeValue(event, keys),
      country: codeOfCountry(event.country),
    };
    const hour = Math.floor(nowSeconds / HOUR_SECONDS);
    if (teaches && event.outcome === 'challenge_passed') this.#see(record, context, hour, true);
    const sessions = table.words[record + AT_SESSIONS] ?? 0;
    if (sessions === 0) {
      if (teaches) this.#learn(record, context, keys, true, nowSeconds);
      return null;
    }
    const found = this.#compare(record, context, entity, keys, sessions, nowSeconds);
    if (teaches) {
      const isDoubtful = found.ratio > 0;
      if (!isDoubtful && !this.#isCounted(record, keys.sessionLow, nowSeconds))
        this.#learn(record, context, keys, false, nowSeconds);
      else if (this.#see(record, context, hour, false)) this.taught = TAUGHT_CONTEXT;
    }
    const first = table.words[record + AT_FIRST] ?? 0;
    return found.ratio === 0 || nowSeconds - first >= SETTLED_SECONDS ? found : { ...found, ratio: 0 };
  }

  /** Reverts what a login added that later turns out to have failed. */
  forget(low: number, high: number, taught: number, event: TracedEvent, nowMs: number): void {
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record = (taught & TAUGHT_CONTEXT) === 0 ? 0 : this.#table.find(low, high, KIND_CONTEXT, nowSeconds);
    if (record === 0) return;
    const { words } = this.#table;
    const isFirst = (taught & TAUGHT_FIRST_CONTEXT) !== 0;
    const hour = Math.floor(nowSeconds / HOUR_SECONDS);
    const context = contextOf(event);
    if (context.device !== 0) this.#devices.forget(record, context.device, hour, isFirst);
    if (context.exactAgent !== 0) this.#exactAgents.forget(record, context.exactAgent, hour, isFirst);
    if (context.site !== 0) this.#networks.forget(record, context.site, hour, isFirst);
    const counted = this.#countedAt(record, event.sessionLow, event.atSeconds);
    if (counted < 0) return;
    Atomics.store(words, counted, 0);
    if (context.agent !== 0) this.#agents.remove(record, context.agent);
    if (context.place !== 0) this.#places.remove(record, context.place);
    if (context.country !== 0) removeCountry(words, record + AT_COUNTRIES, context.country);
    const sessions = words[record + AT_SESSIONS] ?? 0;
    if (sessions > 0) Atomics.compareExchange(words, record + AT_SESSIONS, sessions, sessions - 1);
    if (sessions <= 1) Atomics.store(words, record + AT_FIRST, 0);
  }

  /**
   * Learns the context of an event that was confirmed as the account owner's. `isPassed`: confirmed by a challenge, which a stolen password
   * does not pass.
   */
  confirm(low: number, high: number, event: TracedEvent, isPassed: boolean, keys: PopulationKey, nowMs: number): void {
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record = this.#table.find(low, high, KIND_CONTEXT, nowSeconds);
    if (record === 0) return;
    const context = contextOf(event);
    const isFirst = (this.#table.words[record + AT_SESSIONS] ?? 0) === 0;
    const isCounted = this.#isCounted(record, event.sessionLow, event.atSeconds);
    if (isCounted || !(isPassed || isFirst)) {
      this.#see(record, context, Math.floor(nowSeconds / HOUR_SECONDS), isPassed);
      return;
    }
    this.#learn(record, context, { ...keys, sessionLow: event.sessionLow }, true, event.atSeconds);
  }

  #compare(
    record: number,
    context: Context,
    entity: EntityHistory,
    keys: EventKeys,
    sessions: number,
    nowSeconds: number,
  ): ContextHistory {
    const hour = Math.floor(nowSeconds / HOUR_SECONDS);
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

  /** Counts a session and learns its context. */
  #learn(
    record: number,
    context: Context,
    keys: PopulationKey & { readonly sessionLow: number },
    asFamiliar: boolean,
    nowSeconds: number,
  ): void {
    const { words } = this.#table;
    this.taught = TAUGHT_CONTEXT | (asFamiliar ? TAUGHT_FIRST_CONTEXT : 0);
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
    this.#see(record, context, Math.floor(nowSeconds / HOUR_SECONDS), asFamiliar);
    this.#population.add(keys, agent, place, nowSeconds);
    if (most < COUNT_MAX) return;
    this.#agents.halve(record);
    this.#places.halve(record);
    Atomics.compareExchange(words, record + AT_SESSIONS, sessions + 1, (sessions + 1) >> 1);
  }

  /** Returns whether any of the attributes was not in its set. */
  #see(record: number, { device, exactAgent, site }: Context, hour: number, asFamiliar: boolean): boolean {
    let isNew = false;
    if (device !== 0) isNew = this.#devices.see(record, device, hour, asFamiliar);
    if (exactAgent !== 0) isNew = this.#exactAgents.see(record, exactAgent, hour, asFamiliar) || isNew;
    if (site !== 0) isNew = this.#networks.see(record, site, hour, asFamiliar) || isNew;
    return isNew;
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
    site: site === 0 ? 0 : memberOf(site),
    place: contextPlace,
    country,
  };
}

function countedWord(sessionLow: number, nowSeconds: number): number {
  return ((sessionLow & ~DAY_BITS) | (Math.floor(nowSeconds / DAY_SECONDS) & DAY_BITS)) >>> 0;
}
