import { unpackRecord } from '../history/decision-log/match.ts';
import { readRequests } from '../history/request-log/read-requests.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import { readSignals } from '../risk/shown-signals.ts';
import { decodeRow } from '../state/tables/deliveries/row.ts';
import { eachDeliveryAbout } from '../state/tables/deliveries/rows-about.ts';
import { table } from '../state/tables/environment.ts';
import type { KeptRow } from '../state/tables/learning-row-table.ts';
import { eachAuditEntryAbout } from './erasers/audit-eraser.ts';
import { isLearningRowAbout } from './erasers/learning-row-eraser.ts';
import { listEntriesAbout } from './erasers/list-eraser.ts';
import { namedItemsAbout } from './erasers/named-list-eraser.ts';
import { notesAbout } from './erasers/note-eraser.ts';
import { isRequestAbout } from './erasers/request-eraser.ts';
import { countHistory } from './erasers/velocity-eraser.ts';
import type { EXPORT_SECTIONS, ExportPlace } from './export-fields.ts';
import type { FoundPerson } from './find-person.ts';

/** A row by the names of the fields of its section. */
export type PersonExportRow<P extends ExportPlace> = Readonly<
  Record<keyof (typeof EXPORT_SECTIONS)[P]['fields'], unknown>
>;

/** Takes a row that was found; borrowed bytes must be copied before it returns. */
export type RowSink = <P extends ExportPlace>(place: P, row: PersonExportRow<P>) => void;

type Exporter = (finding: FoundPerson, add: RowSink) => Promise<void> | void;

/** What reads each place; the finders are those of the erasers. */
const EXPORTERS = {
  decisions: exportDecisions,
  requests: exportRequests,
  learning_rows: exportLearningRows,
  velocity: exportHistory,
  deliveries: exportDeliveries,
  notes: exportNotes,
  lists: exportListEntries,
  named_lists: exportNamedItems,
  audit: exportAuditEntries,
} satisfies Readonly<Record<ExportPlace, Exporter>>;

/** Passes everything about a person on this node, place by place, in slices. Changes nothing. Throws if the slices are aborted. */
export async function exportPerson(finding: FoundPerson, add: RowSink): Promise<void> {
  for (const exporter of Object.values<Exporter>(EXPORTERS)) {
    await finding.slices.begin();
    await exporter(finding, add);
  }
}

/** Several people may share an address: then only what is about the address itself is exported. */
function isOfManyPeople({ subject }: FoundPerson): boolean {
  return subject === 'ip';
}

async function exportDecisions(finding: FoundPerson, add: RowSink): Promise<void> {
  const { decisions, customer, rows, slices } = finding;
  if (rows === null) return;
  await decisions.visitAbout(customer, rows, slices, (bytes, from, end) => {
    const record = unpackRecord(bytes, from, end);
    if (record !== null) add('decisions', decisionRow(record, isOfManyPeople(finding)));
  });
}

function decisionRow(record: DecisionRecord, isOfMany: boolean): PersonExportRow<'decisions'> {
  return {
    request_id: record.requestId,
    at: Math.floor(record.occurredAtMs / 1_000),
    event_type: record.eventType,
    decision: record.decision,
    score: record.score,
    reasons: record.contributions.map(({ code, evidence }) => ({ code, evidence: isOfMany ? null : evidence })),
    outcome: isOfMany ? null : record.outcome,
    ip: record.ip,
    country: record.country,
    path: isOfMany ? null : record.path,
    fingerprint_hash: isOfMany ? null : record.fingerprintHash,
    identities: isOfMany ? null : record.identities,
    signals: isOfMany ? null : nonZero(record.features),
  };
}

function nonZero(features: Buffer | null): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(readSignals(features) ?? {}).filter(([, value]) => value !== 0));
}

async function exportRequests(finding: FoundPerson, add: RowSink): Promise<void> {
  const { dataDir, customer, keyFor, untilMs, slices, person } = finding;
  for (const piece of readRequests({ dataDir, customer, keyFor }, untilMs + 1)) {
    if (slices.isOver) await slices.begin();
    if (piece.kind !== 'entry' || piece.entry.kind !== 'request') continue;
    const { body, atMs } = piece.entry;
    if (!isRequestAbout(finding, body, atMs)) continue;
    const shown = isOfManyPeople(finding) ? { ip: person?.value } : parsed(body.toString());
    add('requests', { at: Math.floor(atMs / 1_000), body: shown });
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return json;
  }
}

async function exportLearningRows(finding: FoundPerson, add: RowSink): Promise<void> {
  const { store, customer, slices, nowMs } = finding;
  await store.learningRows?.flush(nowMs);
  await store.learningRows?.each(customer, slices, (row: KeptRow) => {
    if (!isLearningRowAbout(finding, row)) return;
    const { requestId, occurredAtMs, eventType, decision, features } = row;
    add('learning_rows', {
      request_id: requestId,
      at: Math.floor(occurredAtMs / 1_000),
      event_type: eventType,
      decision,
      signals: isOfManyPeople(finding) ? null : nonZero(features),
    });
  });
}

function exportHistory(finding: FoundPerson, add: RowSink): void {
  const records = countHistory(finding);
  if (records > 0) add('velocity', { records });
}

async function exportDeliveries(finding: FoundPerson, add: RowSink): Promise<void> {
  const { store, customer, requestIds, slices } = finding;
  if (requestIds.size === 0) return;
  const rows = table(store.state, 'deliveries');
  await eachDeliveryAbout(rows, customer, requestIds, slices, (key, value) => {
    const { requestId, createdAtMs, event, url, status, body } = decodeRow(key, value);
    add('deliveries', {
      request_id: requestId,
      at: Math.floor(createdAtMs / 1_000),
      event,
      recipient: /^https?:\/\/([^/?#]+)/.exec(url)?.[1] ?? null,
      status,
      body: isOfManyPeople(finding) ? null : parsed(body.toString()),
    });
  });
}

async function exportNotes(finding: FoundPerson, add: RowSink): Promise<void> {
  if (isOfManyPeople(finding)) return;
  for (const { requestId, label, labelNote, verdict, reviewNote } of await notesAbout(finding))
    add('notes', { request_id: requestId, label, label_note: labelNote, verdict, review_note: reviewNote });
}

async function exportListEntries(finding: FoundPerson, add: RowSink): Promise<void> {
  for (const entry of await listEntriesAbout(finding)) {
    const { kind, value, action, note, eventTypes, createdAtSeconds, expiresAtSeconds } = entry;
    add('lists', {
      kind,
      value,
      action,
      note,
      event_types: eventTypes,
      created_at: createdAtSeconds,
      expires_at: expiresAtSeconds,
    });
  }
}

async function exportNamedItems(finding: FoundPerson, add: RowSink): Promise<void> {
  for (const list of finding.store.namedLists.of(finding.customer)) {
    for (const { value, createdAtSeconds, expiresAtSeconds } of await namedItemsAbout(finding, list))
      add('named_lists', { list: list.name, value, added_at: createdAtSeconds, expires_at: expiresAtSeconds });
  }
}

async function exportAuditEntries(finding: FoundPerson, add: RowSink): Promise<void> {
  await eachAuditEntryAbout(finding, (_key, { kind, atMs }) => add('audit', { at: Math.floor(atMs / 1_000), kind }));
}
