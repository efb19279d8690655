import { LIST_EXPIRY_SECONDS_MAX } from '../kernel/limits.ts';
import { TEXT_KIND } from '../contract/vocabulary.ts';
import type { NamedListKind } from '../risk/lists/named-list.ts';
import { LIST_ACTIONS, type ListAction } from '../risk/decision.ts';
import { type ListKind, listKindOf, readListTarget } from '../risk/lists/list-kind.ts';
import type { GivenListEntry } from '../state/tables/list-change.ts';
import { splitCsvLine } from './csv-line.ts';

/**
 * Reads entries of lists from files: CSV with a header; text with one value a line, as FireHOL's netsets have them; and what
 * `cscli decisions list -o json` of CrowdSec prints.
 */
export type ImportedRow =
  | { readonly kind: 'entry'; readonly entry: GivenListEntry }
  /** `at`: the line, or the number of the decision. */
  | { readonly kind: 'fault'; readonly at: number; readonly message: string };

export interface ImportDefaults {
  /** Null: an address or a network, by its form. */
  readonly kind: ListKind | null;
  readonly action: ListAction;
  readonly nowSeconds: number;
}

export const IMPORT_FORMATS = ['csv', 'text', 'crowdsec'] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

const NOTE_CHARACTERS_MAX = 500;

/** Throws a SyntaxError for a text that is no JSON in the format of CrowdSec. */
export function readImport(text: string, format: ImportFormat, defaults: ImportDefaults): readonly ImportedRow[] {
  return readImportCells(text, format, defaults).map((row) =>
    row.kind === 'fault' ? row : rowOf(row.at, row.cells, defaults),
  );
}

/** One value of a file with what stands beside it, as text. */
export type ImportCellsRow =
  | { readonly kind: 'cells'; readonly at: number; readonly cells: ImportCells }
  | Extract<ImportedRow, { readonly kind: 'fault' }>;

/** Throws a SyntaxError for a text that is no JSON in the format of CrowdSec. */
export function readImportCells(
  text: string,
  format: ImportFormat,
  { kind, nowSeconds }: { readonly kind: NamedListKind | null; readonly nowSeconds: number },
): readonly ImportCellsRow[] {
  if (format === 'crowdsec') return crowdsecRows(JSON.parse(text), nowSeconds);
  const lines = text.split(/\r?\n/);
  return format === 'csv' ? csvRows(lines) : textRows(lines, kind);
}

/** Values of these kinds can have the characters that begin a comment; there only whole lines are comments. */
const FREE_TEXTS: ReadonlySet<NamedListKind | null> = new Set([TEXT_KIND, 'user_agent'] as const);

function textRows(lines: readonly string[], kind: NamedListKind | null): readonly ImportCellsRow[] {
  const comment = FREE_TEXTS.has(kind) ? /^\s*#.*$/ : /[#;].*$/;
  return lines.flatMap((line, at) => {
    const value = line.replace(comment, '').trim();
    return value === '' ? [] : [{ kind: 'cells', at: at + 1, cells: { value } } as const];
  });
}

function csvRows([header = '', ...lines]: readonly string[]): readonly ImportCellsRow[] {
  const names = splitCsvLine(header)?.map((name) => name.toLowerCase()) ?? [];
  if (!names.includes('value'))
    return [{ kind: 'fault', at: 1, message: 'the first line must name the columns, at least value' }];
  return lines.flatMap((line, at): readonly ImportCellsRow[] => {
    if (line.trim() === '') return [];
    const cells = splitCsvLine(line);
    if (cells === null || cells.length !== names.length)
      return [{ kind: 'fault', at: at + 2, message: 'it does not have as many cells as the first line' } as const];
    const named = Object.fromEntries(names.map((name, n) => [name, cells[n] ?? '']));
    return [{ kind: 'cells', at: at + 2, cells: named } as const];
  });
}

interface CrowdsecDecision {
  readonly scope?: unknown;
  readonly value?: unknown;
  readonly type?: unknown;
  readonly duration?: unknown;
  readonly scenario?: unknown;
}

const SCOPES: Readonly<Record<string, ListKind>> = { ip: 'ip', range: 'network', country: 'country', as: 'asn' };

/** Source: `cscli decisions list -o json`: alerts with decisions, or the decisions alone. */
function crowdsecRows(given: unknown, nowSeconds: number): readonly ImportCellsRow[] {
  const all = (Array.isArray(given) ? given : []) as readonly { readonly decisions?: unknown }[];
  const decisions = all.flatMap((one) => (Array.isArray(one?.decisions) ? one.decisions : [one])) as CrowdsecDecision[];
  return decisions.map((decision, at): ImportCellsRow => {
    const { scope, value, type, duration, scenario } = decision ?? {};
    const kind = SCOPES[String(scope).toLowerCase()];
    if (kind === undefined) return { kind: 'fault', at: at + 1, message: `its scope is ${String(scope).slice(0, 40)}` };
    if (type !== 'ban')
      return { kind: 'fault', at: at + 1, message: `its type is ${String(type).slice(0, 40)}, not ban` };
    const seconds = durationSeconds(String(duration));
    const cells = {
      kind,
      value: String(value),
      action: 'block',
      note: typeof scenario === 'string' ? scenario : '',
      expires_at: seconds === null ? '' : String(nowSeconds + seconds),
    };
    return { kind: 'cells', at: at + 1, cells };
  });
}

/** `3h59m10.5s`; null for other text. */
function durationSeconds(text: string): number | null {
  const { hours, minutes, seconds } =
    /^(?:(?<hours>\d+)h)?(?:(?<minutes>\d+)m)?(?:(?<seconds>\d+)(?:\.\d+)?s)?$/.exec(text)?.groups ?? {};
  const total = Number(hours ?? 0) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
  return total > 0 ? total : null;
}

export type ImportCells = Readonly<Partial<Record<'kind' | 'value' | 'action' | 'note' | 'expires_at', string>>>;

function rowOf(at: number, cells: ImportCells, defaults: ImportDefaults): ImportedRow {
  const fault = (message: string): ImportedRow => ({ kind: 'fault', at, message });
  const { kind: kindText = '', value = '', action: actionText = '', note = '', expires_at: ends = '' } = cells;
  const kind = kindText === '' ? (defaults.kind ?? (value.includes('/') ? 'network' : 'ip')) : listKindOf(kindText);
  if (kind === null) return fault(`${kindText.slice(0, 40)} is no kind of entries`);
  const read = readListTarget(kind, value);
  if (read.kind === 'fault') return fault(read.message);
  const action = actionText === '' ? defaults.action : LIST_ACTIONS.find((name) => name === actionText.toLowerCase());
  if (action === undefined) return fault('action must be block, allow or watch');
  const expiresAtSeconds = readEnd(ends, defaults.nowSeconds);
  if (expiresAtSeconds === 'fault') return fault(END_FAULT);
  const entry = {
    target: read.target,
    action,
    note: note === '' ? null : note.slice(0, NOTE_CHARACTERS_MAX),
    expiresAtSeconds,
    eventTypes: [],
  };
  return { kind: 'entry', entry };
}

export const END_FAULT = 'expires_at must be in the future: Unix seconds or a date';

/** Returns the end of an entry in Unix seconds; null for an empty text. */
export function readEnd(text: string, nowSeconds: number): number | null | 'fault' {
  if (text === '') return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.floor(Date.parse(text) / 1_000);
  return seconds > nowSeconds && seconds <= LIST_EXPIRY_SECONDS_MAX ? seconds : 'fault';
}
