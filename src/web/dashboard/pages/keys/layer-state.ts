import type { LayerBody, ReadinessBody } from '../../../../contract/wire-types.ts';
import type { Tone } from '../../components/state-mark.tsx';
import { layerWords } from './layer-words.ts';

export interface LayerState {
  readonly tone: Tone;
  readonly word: string;
  /** Effect on decisions; '' if all is well. */
  readonly meaning: string;
}

export function layerState(id: string, layer: LayerBody): LayerState {
  const { without } = layerWords(id);
  if (layer.state === 'broken') return { tone: 'bad', word: 'Broken', meaning: without };
  if (layer.refused === true)
    return { tone: 'warn', word: 'New file refused', meaning: 'The previous file stays in use, if there is one.' };
  // The detail of an absent layer says the same.
  if (layer.state === 'absent')
    return { tone: 'idle', word: 'Not set up', meaning: layer.detail === '' ? without : '' };
  // The version is the time of the newest backup: nothing has shown yet that backups work.
  if (id === 'backups' && layer.version === null) return { tone: 'idle', word: 'Waiting', meaning: '' };
  return { tone: 'good', word: 'Works', meaning: '' };
}

const STATUS: Readonly<
  Record<ReadinessBody['status'], { readonly tone: Tone; readonly word: string; readonly text: string }>
> = {
  ok: { tone: 'good', word: 'Works', text: 'Everything that is set up works.' },
  degraded: {
    tone: 'warn',
    word: 'Degraded',
    text: 'Decisions are made with less evidence. The broken parts are below.',
  },
  starting: { tone: 'idle', word: 'Starting', text: 'No decisions are made yet.' },
  stopping: { tone: 'warn', word: 'Stopping', text: 'Accepted requests are completed, new ones are refused.' },
  unavailable: {
    tone: 'bad',
    word: 'Unavailable',
    text: 'Decide requests are refused, because the journal cannot be written.',
  },
};

export function statusWords(status: ReadinessBody['status']): {
  readonly tone: Tone;
  readonly word: string;
  readonly text: string;
} {
  return STATUS[status];
}
