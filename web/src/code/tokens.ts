import type { createLowlight } from "lowlight";

/** What a piece of code is, as far as colours tell; "" is anything else. */
export type Kind = "" | "keyword" | "string" | "comment" | "number" | "name" | "type";
/** A piece of a line: its text, and what it is. */
export type Token = readonly [text: string, kind: Kind];
export type Tokens = readonly Token[];

type Tree = ReturnType<ReturnType<typeof createLowlight>["highlight"]>;
type Node = Tree["children"][number];

const SCOPES: Record<string, Kind> = {
  ...{ keyword: "keyword", "selector-tag": "keyword", name: "keyword", "template-tag": "keyword" },
  ...{ string: "string", regexp: "string", char: "string", symbol: "string", link: "string" },
  ...{ comment: "comment", quote: "comment", doctag: "comment" },
  ...{ number: "number", literal: "number", bullet: "number" },
  ...{ title: "name", section: "name", "selector-id": "name", "selector-class": "name" },
  ...{ type: "type", built_in: "type", attr: "type", attribute: "type", meta: "type" },
  ...{ variable: "type", "template-variable": "type", property: "type" },
  ...{ "selector-attr": "type", "selector-pseudo": "type" },
  subst: "",
};

/** A tree of marked code as lines, so that each can be shown on its own. */
export function linesOf(tree: Tree): Tokens[] {
  const lines: Token[][] = [[]];
  const add = (text: string, kind: Kind) => {
    text.split("\n").forEach((part, at) => {
      if (at > 0) lines.push([]);
      if (part) lines.at(-1)?.push([part, kind]);
    });
  };
  const walk = (node: Node, kind: Kind): void => {
    if (node.type === "text") add(node.value, kind);
    else if (node.type === "element") {
      const [scope] = [node.properties.className].flat();
      const own = SCOPES[String(scope)] ?? kind;
      for (const child of node.children) walk(child, own);
    }
  };
  for (const node of tree.children) walk(node, "");
  return lines;
}
