// The front at a glance: two objectives, with the named designs.
import { html, useCallback, useMemo } from "../../../vendor/ui.js";
import { ChartPanel } from "../../charts/chart_panel.js";
import { INDEX, scatterOption } from "../../charts/scatter.js";
import { go } from "../../data/navigation.js";
import { selection } from "../../data/shared_selection.js";
import { axisWords } from "../../pure/axis.js";
import { plural } from "../../pure/format.js";
import { outputsOf } from "../../pure/marks.js";
import { studyHref } from "../../pure/route.js";
import { NoFeasible } from "./no_feasible.js";
import { sampleColumns } from "../samples/table.js";

const everything = () => true;

export function FrontPanel({ study, front, names }) {
  const { focus } = selection.value;
  const outputs = useMemo(() => outputsOf(study.spec), [study.spec]);
  const [x, y] = outputs.filter(({ isObjective }) => isObjective);
  const samples = useMemo(() => (front?.items ?? []).map(frontMark), [front]);
  const option = useCallback(
    () => ({ ...scatterOption({ samples, x, y, isShown: everything, focus, names }), brush: undefined }),
    [samples, x, y, focus, names],
  );
  if (front?.code === "no_feasible_sample") return html`<${NoFeasible} study=${study} outputs=${outputs} front=${front} />`;
  if (!samples.length || !y) return null;
  const open = ({ value }) => {
    const clicked = samples[value?.[INDEX]];
    if (clicked) go(studyHref(study.name, "tradeoffs", { focus: clicked.sample }));
  };
  return html`
    <${ChartPanel} title="Front" note="${plural(samples.length, "design")} that no other one beats. A click opens one."
      controls=${html`<a href=${studyHref(study.name, "tradeoffs")}>All trade-offs</a>`}
      label=${`Front of ${samples.length} samples: ${axisWords(x)} across, ${axisWords(y)} up. The same data are in the table.`}
      option=${option} height=${300} on=${{ click: open }}
      table=${{ columns: sampleColumns(study, [x, y]), rows: samples, rowKey: ({ sample }) => sample, name: `${study.name}-front` }} />
  `;
}

function frontMark(item) {
  return { ...item, kind: "front", full: true, failures: {}, open: 0 };
}
