"""Articles from folders of Markdown or HTML files, and back."""
