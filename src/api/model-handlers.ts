import type { ModelsView, SlotView } from '../assets/model-candidates.ts';
import { unpackRecord } from '../history/decision-log/match.ts';
import { problem } from '../contract/problem.ts';
import {
  compareDecision,
  type Comparison,
  type Gate,
  ModelComparison,
  promotionGates,
  showComparison,
} from '../history/model-comparison.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { DECISION_SCAN_ROWS_MAX } from '../kernel/history-limits.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { RuleTrip } from '../state/tables/own-rule-table.ts';
import { showLabelAges } from '../history/label-ages.ts';
import { BUSY } from './busy.ts';
import { readCustomerStock, type StockParts } from './customer-stock.ts';
import type { ModelAction } from '../contract/requests/model-requests.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import { originOf } from './kit/actor.ts';
import { schemaBody } from './kit/body-readers.ts';
import type { AnyRequest, EndpointHandler, EndpointResponse } from './kit/endpoint-types.ts';
import type { BodyOf } from './kit/request-body.ts';
import type { ChangeOf, Committer } from '../state/feed/changes.ts';

/** Dependencies of the endpoints about models. Source: contract, 9.12. */
export interface ModelParts extends StockParts {
  readonly changes: Committer;
  /** Returns why no caller may choose a model here; null if one may. */
  readonly whyNoChoice: () => { readonly code: 'key_not_allowed' | 'not_ready'; readonly detail: string } | null;
  readonly choose: (action: ModelAction, options: ModelChoiceOptions) => Promise<MadeChoice>;
  readonly readModels: () => Promise<ModelsView>;
  /** Returns since when the model adds nothing for a customer; null while it counts. */
  readonly silenceOf: (customer: CustomerNumber) => RuleTrip | null;
}

export interface ModelChoiceOptions {
  /** `''` for actions that need none. */
  readonly id: string;
  readonly nowMs: number;
  /** Those of the comparison, for a promotion. */
  readonly gates: readonly Gate[];
}

/** What was chosen, with its entry for the audit log. */
export type MadeChoice =
  | {
      readonly kind: 'chosen';
      readonly id: string | null;
      readonly previous: string | null;
      /** Null for a choice that decides nothing. */
      readonly noted: Omit<ChangeOf<'model.chosen'>, 'kind'> | null;
    }
  | { readonly kind: 'refused'; readonly code: string; readonly detail: string };

const CHOICE = schemaBody('chooseModel');

export function modelHandlers(
  endpoint: EndpointFactory,
  parts: ModelParts,
): SecretHandlers<'readModels' | 'readModelRows' | 'compareModels' | 'chooseModel'> {
  return {
    readModels: endpoint({}, modelsHandler(parts)),
    readModelRows: endpoint({}, rowsHandler(parts)),
    compareModels: endpoint({}, comparisonHandler(parts)),
    chooseModel: endpoint({ body: CHOICE }, choiceHandler(parts)),
  };
}

function modelsHandler({ readModels, silenceOf }: ModelParts): EndpointHandler {
  return async ({ caller }) => {
    const { slots, candidates } = await readModels();
    const roleOf = (id: string): string | null =>
      id === slots.model.id ? 'active' : id === slots.challenger.id ? 'challenger' : null;
    const body = {
      active: { ...showSlot(slots.model), silent: showSilence(silenceOf(caller.customer)) },
      challenger: showSlot(slots.challenger),
      candidates: candidates.map(
        ({ id, version, format, trainedAtMs, prior, threshold, budget, isShadowOnly, gates }) => ({
          id,
          version,
          format,
          trained_at: toSeconds(trainedAtMs),
          prior,
          threshold,
          budget,
          shadow_only: isShadowOnly,
          gates,
          role: roleOf(id),
        }),
      ),
    };
    return { kind: 'json', status: 200, body };
  };
}

/** Counts what the caller's decisions have to learn from. */
function rowsHandler(parts: StockParts): EndpointHandler {
  return async ({ caller: { customer }, nowMs, slices, coverage }) => {
    const read = await readCustomerStock(parts, { customer, nowMs, slices, coverage });
    if (read === null) return BUSY;
    const { stock, bySource, isTruncated } = read;
    const body = {
      decisions: stock.decisions,
      rows: stock.rows,
      days: stock.days,
      labels: stock.labels,
      fraud_sessions: stock.fraudSessions,
      honest_sessions: stock.honestSessions,
      by_source: showLabelAges(bySource),
      missing: stock.missing,
      shadow_only: stock.isShadowOnly,
      is_truncated: isTruncated,
    };
    return { kind: 'json', status: 200, body };
  };
}

/** Compares the challenger with the active model on the caller's decisions. */
function comparisonHandler(parts: ModelParts): EndpointHandler {
  return async (request) => {
    const read = await ownComparison(parts, request);
    if (read === null) return BUSY;
    const { id, sinceMs, result, gates, isTruncated } = read;
    const body = { id, since: toSeconds(sinceMs), ...showComparison(result), gates, is_truncated: isTruncated };
    return { kind: 'json', status: 200, body };
  };
}

interface OwnComparison {
  /** The challenger; null without one. */
  readonly id: string | null;
  readonly sinceMs: number | null;
  readonly result: Comparison;
  readonly gates: readonly Gate[];
  readonly isTruncated: boolean;
}

/** Returns null while too many searches are running. */
async function ownComparison(
  { readModels, decisions, store }: ModelParts,
  { caller: { customer }, nowMs, coverage }: AnyRequest,
): Promise<OwnComparison | null> {
  const { slots, candidates } = await readModels();
  const { id, sinceMs } = slots.challenger;
  const comparison = new ModelComparison();
  if (id === null || sinceMs === null)
    return { id: null, sinceMs: null, result: comparison.result(), gates: [], isTruncated: false };
  const wanted = { sinceMs, untilMs: null, nowMs, rowsMax: DECISION_SCAN_ROWS_MAX, coverage };
  const scanned = await decisions.scan(customer, wanted, (_raw, bytes, at, end) => {
    const record = unpackRecord(bytes, at, end);
    if (record !== null) compareDecision(comparison, store, { customer, id }, record);
    return false;
  });
  if (scanned.kind === 'busy') return null;
  const result = comparison.result();
  const isShadowOnly = candidates.find((one) => one.id === id)?.isShadowOnly ?? false;
  const gates = promotionGates(result, { shadowMs: nowMs - sinceMs, isShadowOnly });
  return { id, sinceMs, result, gates, isTruncated: scanned.isTruncated };
}

/** Chooses a model for the installation, which must have no customer beside the caller. */
function choiceHandler(parts: ModelParts): EndpointHandler<BodyOf<typeof CHOICE>> {
  return async (request) => {
    if (request.body.kind === 'problem') return request.body;
    const { action, id } = request.body.value;
    const refusal = parts.whyNoChoice();
    if (refusal !== null) return { kind: 'problem', problem: problem(refusal.code, refusal.detail) };
    const isNamed = action === 'shadow' || action === 'promote';
    if (isNamed && id === undefined) return NO_ID;
    const read = action === 'promote' ? await ownComparison(parts, request) : null;
    if (action === 'promote' && read === null) return BUSY;
    const choice = await parts.choose(action, { id: id ?? '', nowMs: request.nowMs, gates: read?.gates ?? [] });
    if (choice.kind === 'refused') {
      if (choice.code === 'not_found') return NO_CANDIDATE;
      return { kind: 'problem', problem: problem('not_ready', `${choice.detail}.`) };
    }
    if (choice.noted !== null) {
      const written = await parts.changes.commit({ kind: 'model.chosen', ...choice.noted }, originOf(request));
      if (written.kind === 'fault') return written;
    }
    return { kind: 'json', status: 200, body: { id: choice.id, previous: choice.previous } };
  };
}

const NO_CANDIDATE: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'There is no such candidate.'),
};
const NO_ID: EndpointResponse = {
  kind: 'problem',
  problem: problem('validation_failed', 'A field is not valid.', {
    errors: [{ pointer: '/id', code: 'required', message: 'This action needs the id of a candidate.' }],
  }),
};

function showSlot({ id, version, state, detail, refused = false, sinceMs }: SlotView): Record<string, unknown> {
  return { id, version, state, detail, refused, since: toSeconds(sinceMs) };
}

function showSilence(trip: RuleTrip | null): Record<string, unknown> | null {
  return trip === null ? null : { since: toSeconds(trip.atMs), alarms: trip.touched, decisions: trip.decisions };
}

function toSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}
