import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { CodeBlock } from '../../components/code-block.tsx';
import { Copy } from '../../components/copy.tsx';
import { Select } from '../../components/fields.tsx';
import { Section } from '../../components/pane.tsx';
import { Text } from '../../components/text.tsx';
import { blocksOf, type MarkdownBlock } from './markdown-blocks.ts';
import type { ExtractedRecord } from './use-records.ts';

const CHARACTERS_MAX = 20_000;

/** The Markdown of one record, as headings, lists, code and paragraphs. All of it is text: no HTML, no link, no image of the source. */
export function MarkdownPreview({ records }: { readonly records: readonly ExtractedRecord[] }): JSX.Element | null {
  const [chosen, setChosen] = useState('');
  const written = records.filter(({ markdown }) => typeof markdown === 'string' && markdown !== '');
  const record = written.find(({ _meta: meta }) => String(meta.seq) === chosen) ?? written[0];
  const markdown = record?.['markdown'];
  if (record === undefined || typeof markdown !== 'string') return null;
  return (
    <Section
      title="Markdown"
      note="As text: nothing of the source is loaded"
      actions={<Copy text={markdown} what="Markdown" />}
    >
      <div class="stack-small">
        {written.length > 1 && (
          <Select
            label="Record"
            value={String(record._meta.seq)}
            onValue={setChosen}
            choices={written.map(({ _meta: meta }) => ({ value: String(meta.seq), title: `No. ${meta.seq}` }))}
          />
        )}
        {blocksOf(markdown).map((block) => (
          <Block key={block.at} block={block} />
        ))}
      </div>
    </Section>
  );
}

function Block({ block: { at, kind, text } }: { readonly block: MarkdownBlock }): JSX.Element {
  if (kind === 'code') return <CodeBlock text={text} label={`Code ${at + 1}`} wrap />;
  const shown = <Text value={text} charactersMax={CHARACTERS_MAX} />;
  if (kind === 'heading') return <h3>{shown}</h3>;
  if (kind === 'quote') return <blockquote>{shown}</blockquote>;
  return <p>{kind === 'item' ? <>• {shown}</> : shown}</p>;
}
