/** Works out colours beside the page, so that no code, however long or odd, holds the page up. */
import { createLowlight } from "lowlight";
import { INSIDE, LANGUAGES } from "./languages";
import { linesOf } from "./tokens";

const lowlight = createLowlight();

addEventListener("message", ({ data }: MessageEvent<{ text: string; language: string }>) => {
  void answer(data.text, data.language);
});

async function answer(text: string, language: string): Promise<void> {
  await Promise.all([language, ...(INSIDE[language] ?? [])].map(learn));
  postMessage(linesOf(lowlight.highlight(language, text, { prefix: "" })));
}

async function learn(language: string): Promise<void> {
  const load = LANGUAGES[language];
  if (load && !lowlight.registered(language)) {
    lowlight.register(language, (await load()).default);
  }
}
