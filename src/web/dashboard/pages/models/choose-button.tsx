import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { send, v1 } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Button } from '../../components/fields.tsx';
import { toast } from '../../components/toast.tsx';

/** What a press of the button chooses, as `POST /v1/models/choose` takes it. */
export interface Wish {
  readonly action: 'shadow' | 'end_shadow' | 'promote' | 'rollback' | 'resume';
  readonly id?: string;
}

/** A button that chooses a model, after a question. `children` says what will happen, for the whole installation. */
export function ChooseButton({
  word,
  wish,
  onDone,
  children,
}: {
  readonly word: string;
  readonly wish: Wish;
  readonly onDone: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const choose = async (): Promise<void> => {
    await send('POST', v1('/models/choose'), wish);
    toast('Chosen. The server loads it within seconds.');
    onDone();
  };
  return (
    <>
      <Button small onClick={() => setOpen(true)}>
        {word}
      </Button>
      {isOpen && (
        <Confirm title={`${word}?`} confirm={word} onConfirm={choose} onClose={() => setOpen(false)}>
          <p>{children}</p>
        </Confirm>
      )}
    </>
  );
}
