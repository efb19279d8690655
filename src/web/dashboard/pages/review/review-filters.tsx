import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ReviewReason } from '../../../../contract/vocabulary.ts';
import { Button, Field } from '../../components/fields.tsx';
import { type Chip, FilterChips, Segments, ValueSegments } from '../../components/filter-chips.tsx';
import { useLink, useUrlState } from '../../url-state.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import { WHY_WORDS } from './review-card.tsx';

export interface ReviewFilter {
  readonly why: ReviewReason | '';
  /** Only rows assigned to this person; `-`: to nobody; '': all. */
  readonly who: string;
  readonly event: string;
  readonly scoreMin: number;
  readonly scoreMax: number;
}

const WHYS: readonly ReviewReason[] = ['near_block', 'challenger', 'sample'];

function score(text: string | undefined, otherwise: number): number {
  const number = text === undefined || text === '' ? Number.NaN : Number(text);
  return number >= 0 && number <= 100 ? number : otherwise;
}

export function readReviewFilter(query: Readonly<Record<string, string>>): ReviewFilter {
  return {
    why: WHYS.find((why) => why === query['why']) ?? '',
    who: (query['who'] ?? '').slice(0, 100),
    event: (query['event'] ?? '').trim().toLowerCase().slice(0, 64),
    scoreMin: score(query['score_min'], 0),
    scoreMax: score(query['score_max'], 100),
  };
}

/** Whether the filter leaves anything out. */
export function isFiltering({ why, who, event, scoreMin, scoreMax }: ReviewFilter): boolean {
  return why !== '' || who !== '' || event !== '' || scoreMin > 0 || scoreMax < 100;
}

/** Stands for nobody in the URL. */
export const NOBODY = '-';
/** Choice: names that fit beside each other; others can be found by the URL. */
const NAMES_MAX = 6;

/** Filters by assignee, or by reason of the sample, and by event and score; the order. All of them are in the URL. */
export function ReviewFilters({
  filter,
  isWork,
  assignees,
}: {
  readonly filter: ReviewFilter;
  readonly isWork: boolean;
  /** Of the loaded rows. */
  readonly assignees: readonly string[];
}): JSX.Element {
  const url = useUrlState();
  const link = useLink();
  const { event, scoreMin, scoreMax } = filter;
  const chips: Chip[] = [];
  if (event !== '') chips.push({ id: 'event', name: 'event', value: event, without: url.href({ event: null }) });
  if (scoreMin > 0)
    chips.push({ id: 'min', name: 'score from', value: String(scoreMin), without: url.href({ score_min: null }) });
  if (scoreMax < 100)
    chips.push({ id: 'max', name: 'score to', value: String(scoreMax), without: url.href({ score_max: null }) });
  return (
    <div class="row review-filters">
      {isWork ? (
        <>
          <Segments
            label="Order"
            options={[
              { title: 'Oldest first', href: url.href({ order: null, at: null }), isOn: url.get('order') !== 'score' },
              {
                title: 'Highest score',
                href: url.href({ order: 'score', at: null }),
                isOn: url.get('order') === 'score',
              },
            ]}
          />
          {assignees.length > 0 && (
            <ValueSegments
              label="Assigned to"
              name="who"
              values={[
                [NOBODY, 'Nobody'],
                ...assignees.slice(0, NAMES_MAX).map((name) => [name, cutText(visibleText(name), 20)] as const),
              ]}
              also={{ at: null }}
            />
          )}
        </>
      ) : (
        <ValueSegments
          label="Why"
          name="why"
          values={WHYS.map((value) => [value, WHY_WORDS[value]])}
          also={{ at: null }}
        />
      )}
      <More key={`${event} ${scoreMin} ${scoreMax}`} filter={filter} />
      <FilterChips chips={chips} clear={link('/dashboard/review', isWork ? {} : { view: 'samples' })} />
    </div>
  );
}

function More({ filter }: { readonly filter: ReviewFilter }): JSX.Element {
  const url = useUrlState();
  const [event, setEvent] = useState(filter.event);
  const [from, setFrom] = useState(filter.scoreMin === 0 ? '' : String(filter.scoreMin));
  const [to, setTo] = useState(filter.scoreMax === 100 ? '' : String(filter.scoreMax));
  return (
    <form
      class="row"
      aria-label="Filters"
      onSubmit={(submitted) => {
        submitted.preventDefault();
        url.set({ event: event.trim().toLowerCase(), score_min: from, score_max: to, at: null });
      }}
    >
      <span class="narrow-field">
        <Field label="Event" labelHidden placeholder="Event" value={event} onValue={setEvent} maxLength={64} />
      </span>
      <span class="number-field">
        <Field
          label="Score from"
          labelHidden
          placeholder="Score"
          type="number"
          min={0}
          max={100}
          value={from}
          onValue={setFrom}
        />
      </span>
      <span class="muted">to</span>
      <span class="number-field">
        <Field
          label="Score to"
          labelHidden
          placeholder="100"
          type="number"
          min={0}
          max={100}
          value={to}
          onValue={setTo}
        />
      </span>
      <Button type="submit" icon="filter">
        Filter
      </Button>
    </form>
  );
}
