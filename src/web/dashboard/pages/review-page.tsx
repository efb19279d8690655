import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { Segments } from '../components/filter-chips.tsx';
import { useLink, useUrlState } from '../url-state.ts';
import { DecisionStack } from './review/decision-stack.tsx';
import { Precision } from './review/precision.tsx';
import { VerdictWorth } from './review/verdict-worth.tsx';
import { VerdictQueue } from './review/verdict-queue.ts';

const VIEWS = ['open', 'samples', 'precision'] as const;

/** Open work and samples as a stack: one decision at a time, a verdict by one key, and the next one is there. */
export default function ReviewPage(): JSX.Element {
  const url = useUrlState();
  const link = useLink();
  const view = VIEWS.find((name) => name === url.get('view')) ?? 'open';
  const queue = useMemo(() => new VerdictQueue(), []);
  useEffect(() => {
    const flush = (): void => queue.flush();
    addEventListener('pagehide', flush);
    return () => {
      removeEventListener('pagehide', flush);
      flush();
    };
  }, []);
  return (
    <div class="stack">
      <div class="row">
        <Segments
          label="Parts of this page"
          options={[
            { title: 'Open', href: link('/dashboard/review'), isOn: view === 'open' },
            { title: 'Samples', href: link('/dashboard/review', { view: 'samples' }), isOn: view === 'samples' },
            { title: 'Precision', href: link('/dashboard/review', { view: 'precision' }), isOn: view === 'precision' },
          ]}
        />
      </div>
      {view !== 'precision' && <VerdictWorth />}
      {view === 'precision' ? (
        <Precision entered={queue.entered.value} />
      ) : (
        <DecisionStack key={view} queue={queue} isWork={view === 'open'} />
      )}
    </div>
  );
}
