import type { JSX } from 'preact';
import type { PolicyBody } from '../../../../contract/wire-types.ts';
import { DecisionShape } from '../../components/decision-badge.tsx';
import { DECISION_CLASSES, DECISION_WORDS, formatScore } from '../../format.ts';
import { visibleText } from '../../visible-text.ts';
import { toBands } from '../decision/waterfall.tsx';

/** The scale from 0 to 100 of each event type, cut into decisions. */
export function BandChart({ policy }: { readonly policy: PolicyBody }): JSX.Element {
  const rows = [
    ...policy.event_types.map(({ event_type: name, mode, bands }) => ({ name, mode, bands })),
    { name: '', mode: policy.mode, bands: policy.bands },
  ];
  return (
    <ul class="band-chart" aria-label="Bands by event type">
      {rows.map(({ name, mode, bands }) => (
        <li key={name} class="band-row">
          <span>
            {name === '' ? (rows.length === 1 ? 'all events' : 'all others') : visibleText(name)}
            {mode === 'observe' && <span class="tag band-tag">observe</span>}
          </span>
          <span class="band-scale">
            {toBands(bands).map(({ decision, from, to }) => (
              <span
                key={decision}
                class={`band ${DECISION_CLASSES[decision]}`}
                style={{ width: `${to - from}%` }}
                title={`${DECISION_WORDS[decision]}: ${formatScore(from)} to ${formatScore(to)}`}
              >
                <DecisionShape value={decision} />
                <span class="band-word">{DECISION_WORDS[decision]}</span>
                <span class="num">{formatScore(from)}</span>
              </span>
            ))}
          </span>
        </li>
      ))}
    </ul>
  );
}
