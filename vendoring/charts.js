// Only the parts of Apache ECharts that the pages draw with.
import { use } from "echarts/core";
import { BarChart, CustomChart, LineChart, ParallelChart, ScatterChart } from "echarts/charts";
import {
  AxisPointerComponent, BrushComponent, DataZoomComponent, GridComponent,
  LegendComponent, MarkAreaComponent, MarkLineComponent, ParallelComponent,
  TooltipComponent,
} from "echarts/components";
import { AxisBreak, LabelLayout } from "echarts/features";
import { CanvasRenderer } from "echarts/renderers";

use([
  BarChart, CustomChart, LineChart, ParallelChart, ScatterChart,
  AxisPointerComponent, BrushComponent, DataZoomComponent, GridComponent,
  LegendComponent, MarkAreaComponent, MarkLineComponent, ParallelComponent,
  TooltipComponent, AxisBreak, LabelLayout, CanvasRenderer,
]);

export { format, graphic, init, time } from "echarts/core";
