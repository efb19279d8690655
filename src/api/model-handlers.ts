import type { ModelsView, SlotView } from '../assets/model-candidates.ts';
import { unpackRecord } from '../history/decision-log/match.ts';
import { compareDecision, ModelComparison, promotionGates, showComparison } from '../history/model-comparison.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { DECISION_SCAN_ROWS_MAX } from '../kernel/history-limits.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { RuleTrip } from '../state/tables/own-rule-table.ts';
import { LABEL_AGES } from '../history/label-ages.ts';
import { BUSY } from './busy.ts';
import { readCustomerStock, type StockParts } from './customer-stock.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';

/** Dependencies of the endpoints about models. Source: contract, 9.12. */
export interface ModelParts extends StockParts {
  readonly readModels: () => Promise<ModelsView>;
  /** Returns since when the model adds nothing for a customer; null while it counts. */
  readonly silenceOf: (customer: CustomerNumber) => RuleTrip | null;
}

export function modelHandlers(
  endpoint: EndpointFactory,
  parts: ModelParts,
): SecretHandlers<'readModels' | 'readModelRows' | 'compareModels'> {
  return {
    readModels: endpoint({}, modelsHandler(parts)),
    readModelRows: endpoint({}, rowsHandler(parts)),
    compareModels: endpoint({}, comparisonHandler(parts)),
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
      by_source: bySource.map(({ source, ages }) => ({
        source,
        ages: Object.fromEntries(LABEL_AGES.map((age, at) => [age, ages[at]])),
      })),
      missing: stock.missing,
      shadow_only: stock.isShadowOnly,
      is_truncated: isTruncated,
    };
    return { kind: 'json', status: 200, body };
  };
}

/** Compares the challenger with the active model on the caller's decisions. */
function comparisonHandler({ readModels, decisions, store }: ModelParts): EndpointHandler {
  return async ({ caller: { customer }, nowMs, coverage }) => {
    const { slots, candidates } = await readModels();
    const { id, sinceMs } = slots.challenger;
    const isRunning = id !== null && sinceMs !== null;
    const comparison = new ModelComparison();
    let isTruncated = false;
    if (isRunning) {
      const wanted = { sinceMs, untilMs: null, nowMs, rowsMax: DECISION_SCAN_ROWS_MAX, coverage };
      const scanned = await decisions.scan(customer, wanted, (_raw, bytes, at, end) => {
        const record = unpackRecord(bytes, at, end);
        if (record !== null) compareDecision(comparison, store, { customer, id }, record);
        return false;
      });
      if (scanned.kind === 'busy') return BUSY;
      ({ isTruncated } = scanned);
    }
    const result = comparison.result();
    const isShadowOnly = candidates.find((one) => one.id === id)?.isShadowOnly ?? false;
    const body = {
      id: isRunning ? id : null,
      since: isRunning ? toSeconds(sinceMs) : null,
      ...showComparison(result),
      gates: isRunning ? promotionGates(result, { shadowMs: nowMs - sinceMs, isShadowOnly }) : [],
      is_truncated: isTruncated,
    };
    return { kind: 'json', status: 200, body };
  };
}

function showSlot({ id, version, state, detail, refused = false, sinceMs }: SlotView): Record<string, unknown> {
  return { id, version, state, detail, refused, since: toSeconds(sinceMs) };
}

function showSilence(trip: RuleTrip | null): Record<string, unknown> | null {
  return trip === null ? null : { since: toSeconds(trip.atMs), alarms: trip.touched, decisions: trip.decisions };
}

function toSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}
