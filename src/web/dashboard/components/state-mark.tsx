import type { JSX } from 'preact';
import { Icon, type IconName } from './icon.tsx';

export type Tone = 'good' | 'warn' | 'bad' | 'idle';

const ICONS: Readonly<Record<Tone, IconName>> = { good: 'check', warn: 'warning', bad: 'error', idle: 'clock' };

/** A state as sign, colour and word. */
export function StateMark({ tone, word }: { readonly tone: Tone; readonly word: string }): JSX.Element {
  return (
    <span class={`state-mark ${tone === 'idle' ? 'muted' : `tone-${tone}`}`}>
      <Icon name={ICONS[tone]} size={14} />
      {word}
    </span>
  );
}
