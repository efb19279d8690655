import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BoundedCache } from '../kernel/bounded-cache.ts';
import { fileSignatureOf } from './asset-files.ts';
import type { AssetStatus, ModelSlot } from './asset-messages.ts';
import { CANDIDATES, folderOfChoice, isCandidateId, readSlot } from './model-slots.ts';

/** Choice: a year of weekly training; names begin with their time, so the newest are kept. */
export const CANDIDATES_MAX = 50;
/** Choice: a manifest of 512 columns and 32 golden rows has some 200 KB. */
const MANIFEST_BYTES_MAX = 2 * 1024 * 1024;
const TEXT_CHARACTERS_MAX = 128;
/** Choice: a report has four. */
const GATES_MAX = 16;

/** What `model.json` of a candidate says about it; null for what it does not say. */
export interface CandidateSummary {
  readonly id: string;
  readonly version: string | null;
  readonly format: string | null;
  /** Unix ms. */
  readonly trainedAtMs: number | null;
  /** Share of fraud that the probabilities are at. */
  readonly prior: number | null;
  readonly threshold: number | null;
  /** Share of honest sessions that it may stop by itself; null if it was trained without. */
  readonly budget: number | null;
  /** Trained on so few known frauds that it should only be compared. */
  readonly isShadowOnly: boolean;
  /** Those of its report, without their figures; empty without one. */
  readonly gates: readonly CandidateGateSummary[];
}

export interface CandidateGateSummary {
  readonly name: string;
  readonly holds: boolean;
}

export interface SlotView extends AssetStatus {
  /** Candidate of the slot; null for the files in the folder of models itself, and without any. */
  readonly id: string | null;
  /** When it was chosen, Unix ms; null if that is not known. */
  readonly sinceMs: number | null;
}

export interface ModelsView {
  readonly slots: Readonly<Record<ModelSlot, SlotView>>;
  /** Newest first. */
  readonly candidates: readonly CandidateSummary[];
}

const summaries = new BoundedCache<string, CandidateSummary>(4 * CANDIDATES_MAX);

/** Reads which models there are; `statusOf` is what the score workers report. Never rejects. */
export async function readModels(modelsDir: string, statusOf: (slot: ModelSlot) => AssetStatus): Promise<ModelsView> {
  const view = async (slot: ModelSlot): Promise<SlotView> => {
    const choice = await readSlot(modelsDir, slot);
    const chosen = choice.kind === 'chosen' ? choice : null;
    return { ...statusOf(slot), id: chosen?.id ?? null, sinceMs: chosen?.sinceMs ?? null };
  };
  return {
    slots: { model: await view('model'), challenger: await view('challenger') },
    candidates: await readCandidates(modelsDir),
  };
}

async function readCandidates(modelsDir: string): Promise<readonly CandidateSummary[]> {
  const folder = join(modelsDir, CANDIDATES);
  const names = await readdir(folder).catch(() => []);
  const newest = names.filter(isCandidateId).sort().reverse().slice(0, CANDIDATES_MAX);
  const found: CandidateSummary[] = [];
  // In sequence, so that each is parsed in a separate turn of the event loop.
  for (const id of newest) {
    const path = join(folder, id, 'model.json');
    const reportPath = join(folder, id, 'report.json');
    const signature = await fileSignatureOf(path);
    if (signature === null) continue;
    const key = `${path} ${signature} ${await fileSignatureOf(reportPath)}`;
    const summary = summaries.get(key) ?? summaryOf(id, await readBounded(path), await readBounded(reportPath));
    summaries.set(key, summary);
    found.push(summary);
  }
  return found;
}

/** The active model as its files say. */
export interface ActiveChoice {
  /** Changes when a model is chosen, the same one again included. */
  readonly choice: string;
  readonly id: string | null;
  /** As of `CandidateSummary`. */
  readonly budget: number | null;
}

/** Returns the active model; null without one, and while its files cannot be read. Never rejects. */
export async function readActiveChoice(modelsDir: string): Promise<ActiveChoice | null> {
  const slot = await readSlot(modelsDir, 'model');
  if (slot.kind === 'fault') return null;
  const { id, sinceMs } = slot.kind === 'chosen' ? slot : { id: null, sinceMs: null };
  const manifest = await readBounded(join(folderOfChoice(modelsDir, id), 'model.json'));
  if (manifest === null) return null;
  // Nobody chooses the files in the folder itself: another content is another model.
  const content = id === null ? createHash('sha256').update(JSON.stringify(manifest)).digest('hex') : '';
  return { choice: `${id ?? content} ${sinceMs ?? 0}`, id, budget: summaryOf(id ?? '', manifest).budget };
}

async function readBounded(path: string): Promise<unknown> {
  try {
    const { size } = await stat(path);
    return size > MANIFEST_BYTES_MAX ? null : JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return null;
  }
}

function summaryOf(id: string, manifest: unknown, report: unknown = null): CandidateSummary {
  const fields: Readonly<Record<string, unknown>> =
    typeof manifest === 'object' && manifest !== null ? (manifest as Record<string, unknown>) : {};
  const text = (name: string): string | null => {
    const value = fields[name];
    return typeof value === 'string' ? value.slice(0, TEXT_CHARACTERS_MAX) : null;
  };
  const share = (name: string): number | null => {
    const value = fields[name];
    return typeof value === 'number' && value >= 0 && value <= 1 ? value : null;
  };
  const trainedAtMs = Date.parse(text('trained_at') ?? '');
  return {
    id,
    version: text('version'),
    format: text('format'),
    trainedAtMs: Number.isFinite(trainedAtMs) ? trainedAtMs : null,
    prior: share('prior'),
    threshold: share('threshold'),
    budget: share('budget'),
    isShadowOnly: fields['shadow_only'] === true,
    gates: gatesIn(report),
  };
}

function gatesIn(report: unknown): readonly CandidateGateSummary[] {
  const { gates } = Object(report) as { readonly gates?: unknown };
  if (!Array.isArray(gates)) return [];
  return gates.slice(0, GATES_MAX).flatMap((gate: unknown) => {
    const { name, holds } = Object(gate) as Readonly<Record<'name' | 'holds', unknown>>;
    if (typeof name !== 'string' || typeof holds !== 'boolean') return [];
    return [{ name: name.slice(0, TEXT_CHARACTERS_MAX), holds }];
  });
}
