import type { ExtractFailure, ExtractResult } from '../base/extract-messages.ts';
import { DEATHS_MAX } from './lease-book.ts';
import { packSteps } from '../base/pack-steps.ts';

/** Failure of a step that crashed the worker too often. */
export const KILLED: ExtractFailure = {
  reason: 'internal_error',
  retryable: false,
  detail: `${DEATHS_MAX} workers died while running the step`,
};

/** Result of a step that crashed the worker too often. */
export const KILLER: ExtractResult = {
  kind: 'result',
  lease: 0,
  ndjson: new Uint8Array(0),
  lineBytes: new Uint32Array(0),
  hashes: new Uint8Array(0),
  next: packSteps([]),
  total: null,
  pauseMs: 0,
  pages: 0,
  credits: 0,
  tier: null,
  errors: 1,
  bytes: 0,
  failure: KILLED,
  notes: [],
  jobNotes: [],
  sessionJson: null,
};
