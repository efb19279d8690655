import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { CodeBlock } from '../../components/code-block.tsx';
import { Field } from '../../components/fields.tsx';
import { Segments } from '../../components/filter-chips.tsx';
import { Section } from '../../components/pane.tsx';
import { useUrlState } from '../../url-state.ts';
import { SAMPLES } from './code-samples.ts';

/** The request as a complete program. The language is in the URL; the key is read from the environment, never written into the code. */
export function CodeTabs({ body }: { readonly body: string | null }): JSX.Element {
  const url = useUrlState();
  const [base, setBase] = useState(location.origin);
  const sample = SAMPLES.find(({ id }) => id === url.get('code')) ?? SAMPLES[0];
  const address = base.trim().replace(/\/+$/, '');
  return (
    <Section title="Code">
      <div class="stack">
        <div class="filters">
          <Segments
            label="Language"
            options={SAMPLES.map(({ id, title }) => ({
              title,
              href: url.href({ code: id === SAMPLES[0].id ? null : id }),
              isOn: id === sample.id,
            }))}
          />
        </div>
        <Field label="Address of the API" type="url" value={base} onValue={setBase} spellcheck={false} />
        {body === null ? (
          <p class="muted">The code appears when the body is a JSON object.</p>
        ) : (
          <>
            <CodeBlock text={sample.code(address, body)} label={`${sample.title} code`} />
            <p class="muted">
              Run it: <code>{sample.run}</code>
            </p>
          </>
        )}
      </div>
    </Section>
  );
}
