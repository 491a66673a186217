"""What the pages show: timeline, designs that stand out, assessments."""
