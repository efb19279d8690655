import * as z from 'zod';
import { findColumn } from '../risk/features.ts';
import type { ModelFault, ModelFormat } from '../assets/asset-messages.ts';

/** Choice: more columns than there are features would contain duplicates. */
const COLUMNS_MAX = 1_024;
/** Choice: enough to detect a wrong file; more only slow down a swap. */
const GOLDEN_ROWS_MAX = 1_024;

const shape = z.object({
  name: z.string().min(1).max(128),
  version: z.string().min(1).max(64),
  /** Which file holds the model: `model.onnx` or `forest.json`. */
  format: z.enum(['onnx', 'forest']).default('onnx'),
  /** Hash of the model's file, so that a pair of files that do not belong together is rejected. */
  sha256: z.string().regex(/^[0-9a-fA-F]{64}$/),
  columns: z.array(z.string()).min(1).max(COLUMNS_MAX),
  threshold: z.number().min(0).max(1).default(0.5),
  /** Names in the graph; required only if it has several inputs, or several candidate outputs. */
  input: z.string().min(1).optional(),
  output: z.string().min(1).optional(),
  golden: z
    .array(
      z.object({
        features: z.array(z.number()),
        probability: z.number().min(0).max(1),
        tolerance: z.number().min(0).max(0.1).default(0.0001),
      }),
    )
    .min(1)
    .max(GOLDEN_ROWS_MAX),
});

/** The description of a model in `model.json`. Members that only training uses are ignored. */
export interface ModelManifest {
  readonly name: string;
  readonly version: string;
  readonly format: ModelFormat;
  /** Lower-case hex. */
  readonly sha256: string;
  /** Numbers of feature columns, in the order of the model's input. */
  readonly columns: readonly number[];
  /** Their names, in the same order. */
  readonly columnNames: readonly string[];
  /** The probability from which the model counts. */
  readonly threshold: number;
  readonly input: string | null;
  readonly output: string | null;
  readonly golden: readonly GoldenRow[];
}

/** Rows whose result is known from training: they are run before a model is used. */
interface GoldenRow {
  readonly features: readonly number[];
  readonly probability: number;
  readonly tolerance: number;
}

export type ManifestOutcome = { readonly kind: 'ok'; readonly manifest: ModelManifest } | ModelFault;

/** Parses the text of `model.json`. Total. */
export function parseManifest(text: string): ManifestOutcome {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return fault('manifest_invalid', 'model.json is not JSON');
  }
  const parsed = shape.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const place = issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.join('.')}`;
    return fault('manifest_invalid', `model.json${place}: ${issue?.message ?? 'it does not match the schema'}`);
  }
  const { name, version, format, sha256, columns: names, threshold, input, output, golden } = parsed.data;
  const columns: number[] = [];
  for (const columnName of names) {
    const column = findColumn(columnName);
    if (column === null) return fault('unknown_column', `there is no feature "${columnName.slice(0, 64)}"`);
    columns.push(column);
  }
  const row = golden.findIndex((entry) => entry.features.length !== columns.length);
  if (row >= 0)
    return fault('manifest_invalid', `golden row ${row} must have one feature per column (${columns.length})`);
  return {
    kind: 'ok',
    manifest: {
      name,
      version,
      format,
      sha256: sha256.toLowerCase(),
      columns,
      columnNames: names,
      threshold,
      input: input ?? null,
      output: output ?? null,
      golden,
    },
  };
}

function fault(code: ModelFault['code'], detail: string): ModelFault {
  return { kind: 'fault', code, detail };
}
